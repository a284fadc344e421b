/* Figure 6.59: a region is worth the device only above a threshold; below, the host runs it. */
#include "book.h"

enum { THRESHOLD = 1000 };

static int twice(float* values, int n) {
  for (int i = 0; i < n; ++i)
    values[i] *= 2;
  return ON_DEVICE();
}
#pragma omp declare target(twice)

static int offloaded(float* restrict values, int n) {
  int on_device = -1;
#pragma omp target if (n > THRESHOLD) map(values[ : n], on_device)
  on_device = twice(values, n);
  return on_device;
}

int main(void) {
  static float values[THRESHOLD + 1];
  for (int i = 0; i <= THRESHOLD; ++i)
    values[i] = i;
  CHECK(offloaded(values, THRESHOLD) == 0);
  CHECK(offloaded(values, THRESHOLD + 1) == 1);
  for (int i = 0; i < THRESHOLD; ++i)
    CHECK(values[i] == 4 * i);
  CHECK(values[THRESHOLD] == 2 * THRESHOLD);
  return report();
}
