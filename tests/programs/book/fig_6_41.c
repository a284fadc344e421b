/* Figure 6.41: a sum in a scalar that nobody mapped stays in the region; the text's two remedies keep it. */
#include "book.h"

enum { N = 100 };

static float lost(const float* restrict u, const float* restrict v, int n, int* on_device) {
  float sum = 0;
#pragma omp target map(to : u[ : n], v[ : n]) map(from : on_device[ : 1])
  {
    on_device[0] = ON_DEVICE();
    for (int i = 0; i < n; ++i)
      sum += u[i] * v[i];
  }
  return sum;
}

static float mapped(const float* restrict u, const float* restrict v, int n) {
  float sum = 0;
#pragma omp target map(to : u[ : n], v[ : n]) map(sum)
  for (int i = 0; i < n; ++i)
    sum += u[i] * v[i];
  return sum;
}

static float mapped_by_default(const float* restrict u, const float* restrict v, int n) {
  float sum = 0;
#pragma omp target map(to : u[ : n], v[ : n]) defaultmap(tofrom : scalar)
  for (int i = 0; i < n; ++i)
    sum += u[i] * v[i];
  return sum;
}

int main(void) {
  float u[N], v[N];
  int on_device = 0;
  for (int i = 0; i < N; ++i) {
    u[i] = i;
    v[i] = 2;
  }
  CHECK(lost(u, v, N, &on_device) == 0 && on_device);
  CHECK(mapped(u, v, N) == N * (N - 1));
  CHECK(mapped_by_default(u, v, N) == N * (N - 1));
  return report();
}
