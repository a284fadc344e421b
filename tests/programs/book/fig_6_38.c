/* Figure 6.38: what an enclosing construct mapped is there once; only always copies it in between. */
#include "gather.h"

int main(void) {
  prepare();
#pragma omp target data map(from : picked) map(to : values) map(alloc : indices)
  {
#pragma omp target map(always, from : indices)
    for (int i = 0; i < N; ++i)
      indices[i] = ON_DEVICE() ? chosen(i) : 0;
    for (int i = 0; i < N; ++i)
      CHECK(indices[i] == chosen(i));
    values[chosen(3)] = UNTOUCHED; /* the device keeps its own */

#pragma omp target map(picked, values, indices)
    for (int i = 0; i < N; ++i)
      picked[i] = values[indices[i]];
    CHECK(picked[0] == UNTOUCHED);
  }
  for (int i = 0; i < N; ++i)
    CHECK(picked[i] == 3 * chosen(i));
  CHECK(values[chosen(3)] == UNTOUCHED);
  return report();
}
