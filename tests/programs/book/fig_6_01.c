/* Figure 6.1: a loop that one thread of the device runs, with all that it uses in one map clause. */
#include "book.h"

enum { N = 1000 };

int main(void) {
  double scaled[N], input[N], factor = 3.0, shift = 0.5;
  int on_device = 0;
  for (int i = 0; i < N; ++i)
    input[i] = i;
#pragma omp target map(scaled, input, factor, shift, on_device)
  {
    on_device = ON_DEVICE();
    for (int i = 0; i < N; ++i)
      scaled[i] = input[i] * factor + shift;
  }
  CHECK(on_device);
  for (int i = 0; i < N; ++i)
    CHECK(scaled[i] == i * 3.0 + 0.5);
  return report();
}
