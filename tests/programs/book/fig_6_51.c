/* Figure 6.51: only the ends of an array on the device go to the host, change there, and go back. Each end
 * has a construct of its own here; for both in one see fig_6_51_sections.c. */
#include "book.h"

enum { N = 4096 };
double field[N];
#pragma omp declare target(field)

static void reflect(double* restrict of, int n, int width) {
  for (int i = 0; i < width; ++i) {
    of[i] += 1000;
    of[n - 1 - i] += 2000;
  }
}

static int step(double divisor, int n, int width) {
  int on_device = 0;
#pragma omp target update from(field[0 : width])
#pragma omp target update from(field[n - width : width])
  reflect(field, n, width);
#pragma omp target update to(field[0 : width])
#pragma omp target update to(field[n - width : width])
#pragma omp target map(from : on_device)
  {
    on_device = ON_DEVICE();
    for (int i = 0; i < n; ++i)
      field[i] = field[i] / divisor;
  }
  return on_device;
}

int main(void) {
#pragma omp target
  for (int i = 0; i < N; ++i)
    field[i] = 2 * i;
  CHECK(step(2, N, 3));
  CHECK(field[2] == 1004 && field[3] == 0); /* the host has the ends alone */
  CHECK(field[N - 4] == 0 && field[N - 1] == 2 * (N - 1) + 2000);
#pragma omp target update from(field)
  for (int i = 0; i < N; ++i)
    CHECK(field[i] == i + (i < 3 ? 500 : 0) + (i >= N - 3 ? 1000 : 0));
  return report();
}
