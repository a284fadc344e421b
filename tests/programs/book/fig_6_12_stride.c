/* Figure 6.12: a section with a stride of one, written out. */
#include "book.h"

enum { N = 128 };

int main(void) {
  float values[N] = {0};
#pragma omp target map(values[0 : N : 1])
  values[N - 1] = ON_DEVICE();
  CHECK(values[N - 1] == 1);
  return report();
}
