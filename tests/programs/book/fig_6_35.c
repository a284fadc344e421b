/* Figure 6.35: a map clause without a type copies all that it names in both directions. */
#include "gather.h"

int main(void) {
  prepare();
#pragma omp target map(picked, values, indices)
  {
    for (int i = 0; i < N; ++i)
      indices[i] = ON_DEVICE() ? chosen(i) : 0;
    for (int i = 0; i < N; ++i)
      picked[i] = values[indices[i]];
    values[7] = 8; /* comes back, too */
  }
  for (int i = 0; i < N; ++i)
    CHECK(indices[i] == chosen(i) && picked[i] == 3 * chosen(i));
  CHECK(values[7] == 8 && values[8] == 24);
  return report();
}
