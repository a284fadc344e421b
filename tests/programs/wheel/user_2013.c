/* Runs a region by the interface of 2013. */
#include <libtarget.h>
int factor = 1;
void scale(int *values, int *count) {}
void total(int *values, int *count, int *sum) {}
LIBTARGET_GLOBAL(factor);
LIBTARGET_KERNEL(scale);
LIBTARGET_KERNEL(total);
int scale_2013(int *values, int count) {
  void *objects[] = {&factor, values, &count};
  int sizes[] = {sizeof factor, count * (int)sizeof *values, sizeof count};
  tgt_map_type types[] = {tgt_map_to, tgt_map_tofrom, tgt_map_to};
  factor = 3;
  __tgt_target_data_update(0, 1, objects, sizes, types);
  return __tgt_target(0, (void *)scale, 2, objects + 1, sizes + 1, types + 1);
}
