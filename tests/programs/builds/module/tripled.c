/* A library with two kernels; its wrapper lists them, so they are not static. */
#include <stdint.h>

int32_t __tgt_target(int32_t, void*, int32_t, void**, void**, int64_t*, int32_t*);

void first(int64_t* values);
void second(int64_t* values);
int64_t offloaded(int64_t value);

void first(int64_t* values) {
  *values = -1;
}
void second(int64_t* values) {
  *values = -1;
}

static void run(void* kernel, int64_t* value) {
  void* base[] = {value};
  int64_t size[] = {sizeof *value};
  int32_t to_and_from[] = {0x23}; /* OMP_TGT_MAPTYPE_TO, _FROM and _FIRST_REF */
  if (__tgt_target(-1, kernel, 1, base, base, size, to_and_from))
    *value = -1;
}

int64_t offloaded(int64_t value) {
  run((void*)first, &value);
  run((void*)second, &value);
  return value;
}
