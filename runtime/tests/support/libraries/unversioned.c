/* A library that was not linked with libomptarget: its references carry no version. */
#include "omptarget.h"
int test_launch(void* kernel, int* value) {
  void* base[] = {value};
  int64_t size[] = {sizeof *value};
  int32_t type[] = {OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF};
  return __tgt_target(OMPTARGET_DEVICE_DEFAULT, kernel, 1, base, base, size, type);
}
