/* Regions of about 50 microseconds, each with one array that is mapped and one that is present: what a checker of
 * memory adds to them. Prints their number in a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 30000, REGIONS = 2000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(void) {
  double *const kept = calloc(N, sizeof *kept), *const mapped = calloc(N, sizeof *mapped);
#pragma omp target enter data map(to : kept[0 : N])
  double began = 0;
  for (int i = -10; i < REGIONS; ++i) {
    if (i == 0)
      began = now();
#pragma omp target map(tofrom : mapped[0 : N])
    for (int j = 0; j < N; ++j)
      mapped[j] = mapped[j] * 0.5 + (kept[j] += 1);
  }
  printf("regions/s %.1f\n", REGIONS / (now() - began));
#pragma omp target exit data map(delete : kept[0 : N])
  return 0;
}
