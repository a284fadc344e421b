/* Figure 6.28: the constructs that combine target with parallel, for and simd. */
#include "book.h"

enum { N = 1000 };

int main(void) {
  int shared[N] = {0}, threads = 0, ran[4] = {0};
#pragma omp target parallel num_threads(3) map(shared, threads, ran)
  {
    if (omp_get_thread_num() == 0) {
      threads = omp_get_num_threads();
      ran[0] = ON_DEVICE();
    }
    shared[omp_get_thread_num()] = 1;
  }
  CHECK(threads >= 1 && threads <= 3);
  for (int i = 0; i < 3; ++i)
    CHECK(shared[i] == (i < threads));
#pragma omp target parallel for map(shared, ran)
  for (int i = 0; i < N; ++i) {
    if (i == 0)
      ran[1] = ON_DEVICE();
    shared[i] = 2 * i;
  }
#pragma omp target parallel for simd map(shared)
  for (int i = 0; i < N; ++i)
    shared[i] += 10;
#pragma omp target simd map(shared)
  for (int i = 0; i < N; ++i)
    shared[i] += 100;
  CHECK(ran[0] && ran[1]);
  for (int i = 0; i < N; ++i)
    CHECK(shared[i] == 2 * i + 110);
  return report();
}
