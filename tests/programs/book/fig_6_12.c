/* Figure 6.12: the ways to write a section of an array and of what a pointer points to. */
#include "book.h"

enum { N = 128 };

/* How many of `values` are `wanted`. */
static int count(const float* values, float wanted) {
  int found = 0;
  for (int i = 0; i < N; ++i)
    found += values[i] == wanted;
  return found;
}

int main(void) {
  float *p = calloc(N, sizeof *p), values[N] = {0};
  int on_device = 0;
#pragma omp target map(p[0 : N]) map(values[0 : N]) map(from : on_device)
  {
    on_device = ON_DEVICE();
    for (int i = 0; i < N; ++i)
      p[i] = values[i] = 1;
  }
  CHECK(on_device && count(p, 1) == N && count(values, 1) == N);
#pragma omp target map(p[ : N]) map(values[ : N])
  for (int i = 0; i < N; ++i)
    p[i] = values[i] = 2;
  CHECK(count(p, 2) == N && count(values, 2) == N);
#pragma omp target map(values[ : ])
  for (int i = 0; i < N; ++i)
    values[i] = 3;
  CHECK(count(values, 3) == N);
#pragma omp target map(p[32 : N - 32]) map(values[N / 2 : N / 4])
  {
    for (int i = 32; i < N; ++i)
      p[i] = 4;
    for (int i = N / 2; i < N / 2 + N / 4; ++i)
      values[i] = 4;
  }
  CHECK(count(p, 2) == 32 && count(p, 4) == N - 32 && p[31] == 2 && p[32] == 4);
  CHECK(count(values, 4) == N / 4 && values[N / 2] == 4 && values[N / 2 + N / 4] == 3);
  free(p);
  return report();
}
