/* A kernel of another image than its own code, and data that a far image would push away. */
#include <stdio.h>
#include "omptarget.h"
void set(int *p) { *p = -1; }
OMPTARGET_KERNEL(set);
int far_data[1000] = {1};
int main(void) {
  int value = 0;
  void *base[] = {&value};
  int64_t size[] = {sizeof value};
  int32_t type[] = {OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF};
  if (__tgt_target(-1, (void *)set, 1, base, base, size, type)) return 1;
  printf("%d %d\n", value, far_data[0]);
  return value != 42;
}
