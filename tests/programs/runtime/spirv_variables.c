/* What the host knows of variables of the device, which have other values there. */
#include <omptarget.h>
#include <stdio.h>

long calls = 100;
int weights[4] = {10, 20, 30, 40};

void count(long* out) { *out = -1; }

OMPTARGET_KERNEL(count);
OMPTARGET_GLOBAL(calls);
OMPTARGET_GLOBAL(weights);

int main(void) {
  long sum = 0;
  void* args[] = {&sum};
  int64_t sizes[] = {sizeof sum};
  int32_t types[] = {OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF};
  if (__tgt_target(-1, (void*)count, 1, args, args, sizes, types))
    count(&sum);
  printf("%ld\n", sum);
  return 0;
}
