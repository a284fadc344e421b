// Stand-in for SYCL's runtime: prints the size and the first bytes of each image that it gets.
#include <stdint.h>
#include <stdio.h>

struct record {
  uint16_t version;
  uint8_t kind, format;
  uint32_t reserved;
  const char *target, *compile, *link;
  const unsigned char *begin, *end;
  void* rest[4];
};

struct binaries {
  uint16_t version, count;
  uint32_t reserved;
  const struct record* records;
};

void __sycl_register_lib(const struct binaries* found) {
  for (int n = 0; n < found->count; n++) {
    const struct record* one = &found->records[n];
    printf("%s %ld %02x%02x\n", one->target, (long)(one->end - one->begin), one->begin[0], one->begin[1]);
  }
  printf("%d\n", found->count);
}
