/* Kernels of 5 ms on device 1, with small copies and large ones. For each it prints when the program's call began, and
 * when the kernel began and ended, by the clock of the process: in nanoseconds. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#pragma omp declare target
static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}
#pragma omp end declare target

int main(void) {
  const int size = 1 << 17;
  double* const values = calloc((size_t)size, sizeof *values);
#pragma omp target device(0)
  {
  }
  for (int i = 0; i < 10; ++i) {
    long times[2] = {0, 0};
    const long before = now();
#pragma omp target map(from : times) map(tofrom : values[ : size]) device(1)
    {
      for (times[0] = now(); now() < times[0] + 5000000;)
        ++values[0];
      times[1] = now();
    }
    printf("%ld %ld %ld\n", before, times[0], times[1]);
  }
  free(values);
  return 0;
}
