/* Figure 6.31: target teams combined with every form of distribute. */
#include "book.h"

enum { N = 1000 };

int main(void) {
  int counts[N] = {0}, on_device = 0;
#pragma omp target teams distribute map(counts) map(from : on_device)
  for (int i = 0; i < N; ++i) {
    if (i == 0)
      on_device = ON_DEVICE();
    counts[i] += 1;
  }
#pragma omp target teams distribute parallel for map(counts)
  for (int i = 0; i < N; ++i)
    counts[i] += 10;
#pragma omp target teams distribute simd map(counts)
  for (int i = 0; i < N; ++i)
    counts[i] += 100;
#pragma omp target teams distribute parallel for simd map(counts)
  for (int i = 0; i < N; ++i)
    counts[i] += 1000;
  CHECK(on_device);
  for (int i = 0; i < N; ++i)
    CHECK(counts[i] == 1111);
  return report();
}
