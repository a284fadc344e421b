/* A saxpy over doubles by a portable kernel (bench/saxpy.ll's is for floats, and a CPU's teams), as fast as it goes.
 *
 * Usage: portable [few]
 *
 * Prints "portable GB/s", the median of its launches. The data stays on the device between them. */
#include <omptarget.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  TOFROM = OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF,
  VALUE = OMP_TGT_MAPTYPE_PRIVATE_VAL,
  BATCHES = 11,
};

static void saxpy(double* y, double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] += 3 * x[i];
}
OMPTARGET_KERNEL(saxpy);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  (void)argv;
  const int64_t n = argc > 1 ? 1 << 15 : 1 << 25;
  double *const y = malloc((size_t)n * sizeof *y), *const x = malloc((size_t)n * sizeof *x);
  if (!x || !y)
    return 3;
  for (int64_t i = 0; i < n; ++i)
    y[i] = 1, x[i] = 2;
  void *base[] = {y, x, (void*)n}, *begin[] = {y, x, NULL};
  int64_t size[] = {n * (int64_t)sizeof *y, n * (int64_t)sizeof *x, 0};
  int32_t type[] = {TOFROM, TOFROM, VALUE};
  double speeds[BATCHES];
  __tgt_target_data_begin(OMPTARGET_DEVICE_DEFAULT, 2, base, begin, size, type);
  for (int batch = -1; batch < BATCHES; ++batch) { /* one to warm up */
    const double start = now();
    if (__tgt_target_teams(OMPTARGET_DEVICE_DEFAULT, (void*)saxpy, 3, base, begin, size, type, 0, 0) != 0)
      return 4;
    if (batch >= 0)
      speeds[batch] = 24e-9 * (double)n / (now() - start);
  }
  __tgt_target_data_end(OMPTARGET_DEVICE_DEFAULT, 2, base, begin, size, type);
  if (argc == 1 && (y[0] != 73 || y[n - 1] != 73)) /* 1 + 12 * 6 */
    return 5;
  qsort(speeds, BATCHES, sizeof *speeds, ascending);
  printf("portable %.3f\n", speeds[BATCHES / 2]);
  return 0;
}
