/* A library that registers and defers a data call for memory of its own. */
#include "omptarget.h"
static __tgt_bin_desc descriptor;
static int values[4096] = {1};
__attribute__((constructor)) static void load(void) {
  void* base[] = {values};
  int64_t size[] = {sizeof values};
  int32_t type[] = {OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FIRST_REF};
  __tgt_register_lib(&descriptor);
  __tgt_target_data_begin(OMPTARGET_DEVICE_ALL, 1, base, base, size, type);
}
__attribute__((destructor)) static void go(void) {
  __tgt_unregister_lib(&descriptor);
}
