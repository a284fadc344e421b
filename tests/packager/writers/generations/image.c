/* The image of plain.c, with the table that LLVM 14's plugin looks for. */
#include <stdint.h>

int offset = 5;

void add(int *values) {
  values[0] += offset;
  values[1] += offset;
}

struct entry {
  void *address;
  const char *name;
  uint64_t size;
  int32_t flags, reserved;
};

__attribute__((section("omp_offloading_entries"), used, aligned(1))) struct entry entries[] = {
    {(void *)add, "add", 0, 0, 0},
    {&offset, "offset", sizeof offset, 0, 0},
};
