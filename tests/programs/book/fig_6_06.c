/* Figure 6.6: the host goes on beside a region that it did not wait for, and then waits. */
#include "book.h"

enum { N = 1000 };

static double total(const double* values) {
  double sum = 0;
  for (int i = 0; i < N; ++i)
    sum += values[i];
  return sum;
}

int main(void) {
  double scaled[N], input[N], factor = 3.0, shift = 0.5;
  int on_device = 0;
  for (int i = 0; i < N; ++i)
    input[i] = i;
#pragma omp target map(scaled, factor, shift, on_device) map(to : input) nowait
  {
    on_device = ON_DEVICE();
#pragma omp parallel for
    for (int i = 0; i < N; ++i)
      scaled[i] = input[i] * factor + shift;
  }
  CHECK(total(input) == N * (N - 1) / 2.0);
#pragma omp taskwait
  CHECK(on_device);
  CHECK(total(scaled) == 3.0 * N * (N - 1) / 2.0 + 0.5 * N);
  return report();
}
