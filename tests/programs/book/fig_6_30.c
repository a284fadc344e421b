/* Figure 6.30: the composite constructs: distribute with parallel for, with simd and with both. */
#include "book.h"

enum { N = 1000 };

int main(void) {
  int counts[N] = {0}, on_device = 0;
#pragma omp target data map(counts) map(from : on_device)
  {
#pragma omp target teams map(on_device)
#pragma omp distribute parallel for
    for (int i = 0; i < N; ++i) {
      if (i == 0)
        on_device = ON_DEVICE();
      counts[i] += 1;
    }
#pragma omp target teams
#pragma omp distribute simd
    for (int i = 0; i < N; ++i)
      counts[i] += 10;
#pragma omp target teams
#pragma omp distribute parallel for simd
    for (int i = 0; i < N; ++i)
      counts[i] += 100;
    CHECK(counts[0] == 0 && counts[N - 1] == 0);
  }
  CHECK(on_device);
  for (int i = 0; i < N; ++i)
    CHECK(counts[i] == 111);
  return report();
}
