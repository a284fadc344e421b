/* A region with COUNT arguments: the address of a sum, and 1, 2 and so on to be summed. Prints where it ran, and the sum:
 * of 1,000 arguments "device 499500". */
#include <omptarget.h>
#include <stdio.h>

enum { VALUE = OMP_TGT_MAPTYPE_PRIVATE_VAL };

static void sum(int64_t* total) {
  for (int64_t i = 1; i < COUNT; ++i)
    *total += i;
}
OMPTARGET_KERNEL(sum);

int main(void) {
  static void *base[COUNT], *begin[COUNT];
  static int64_t size[COUNT];
  static int32_t type[COUNT];
  int64_t total = 0;
  base[0] = begin[0] = &total;
  size[0] = sizeof total;
  type[0] = OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF;
  for (int64_t i = 1; i < COUNT; ++i) {
    base[i] = (void*)i;
    type[i] = VALUE;
  }
  const int on_host = __tgt_target_teams(-1, (void*)sum, COUNT, base, begin, size, type, 1, 1) != 0;
  if (on_host)
    sum(&total);
  printf("%s %ld\n", on_host ? "host" : "device", (long)total);
  return 0;
}
