/* Maps and unmaps as clang 16's programs do. */
#include <stdint.h>
typedef void call(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **,
                  void **);
call __tgt_target_data_begin_mapper, __tgt_target_data_end_mapper;
static void on(call *function, int *values, int64_t bytes) {
  void *base[] = {values};
  int64_t size[] = {bytes}, type[] = {3};
  function(0, 0, 1, base, base, size, type, 0, 0);
}
void map_16(int *values, long bytes) { on(__tgt_target_data_begin_mapper, values, bytes); }
void unmap_16(int *values, long bytes) { on(__tgt_target_data_end_mapper, values, bytes); }
