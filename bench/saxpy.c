/* One saxpy by a portable kernel on the device, and by the loop below on the host, in turn; bench/saxpy.py makes and
 * runs it. The data stays on the device between the launches.
 *
 * Usage: saxpy ELEMENTS RUNS
 *
 * Prints "portable SECONDS" and "loop SECONDS", medians of the runs. */
#include <omptarget.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  TOFROM = OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF,
  VALUE = OMP_TGT_MAPTYPE_PRIVATE_VAL,
};

static void saxpy(float* y, const float* x, float a, long n) {
#pragma omp parallel for
  for (long i = 0; i < n; ++i)
    y[i] += a * x[i];
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

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

static float* filled(long count, float value) {
  float* const made = malloc((size_t)count * sizeof *made);
  if (!made)
    exit(3);
  for (long i = 0; i < count; ++i)
    made[i] = value;
  return made;
}

static void launch(float* y, float* x, float a, int64_t n) {
  int64_t bits = 0;
  memcpy(&bits, &a, sizeof a);
  void* base[] = {y, x, (void*)bits, (void*)n};
  void* begin[] = {y, x, NULL, NULL};
  int64_t size[] = {n * (int64_t)sizeof *y, n * (int64_t)sizeof *x, 0, 0};
  int32_t type[] = {TOFROM, TOFROM, VALUE, VALUE};
  if (__tgt_target_teams(OMPTARGET_DEVICE_DEFAULT, (void*)saxpy, 4, base, begin, size, type, 0, 1) != 0)
    exit(4);
}

int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 1 << 20;
  const int runs = argc > 2 ? atoi(argv[2]) : 5;
  float *y = filled(n, 1), *x = filled(n, 2), *other = filled(n, 1);
  double* times[] = {calloc((size_t)runs, sizeof(double)), calloc((size_t)runs, sizeof(double))};
  if (runs < 1 || !times[0] || !times[1])
    return 3;
  void* all[] = {y, x};
  int64_t size[] = {n * (int64_t)sizeof *y, n * (int64_t)sizeof *x};
  int32_t type[] = {TOFROM, TOFROM};
  __tgt_target_data_begin(OMPTARGET_DEVICE_DEFAULT, 2, all, all, size, type);
  for (int run = -1; run < runs; ++run) { /* one to warm up */
    const double begin = now();
    launch(y, x, 0.5F, n);
    const double between = now();
    saxpy(other, x, 0.5F, n);
    if (run >= 0) {
      times[0][run] = between - begin;
      times[1][run] = now() - between;
    }
  }
  __tgt_target_data_end(OMPTARGET_DEVICE_DEFAULT, 2, all, all, size, type);
  for (long i = 0; i < n; ++i)
    if (y[i] != other[i])
      return 5;
  printf("portable %.9f\nloop %.9f\n", median(times[0], runs), median(times[1], runs));
  return 0;
}
