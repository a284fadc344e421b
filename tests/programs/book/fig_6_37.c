/* Figure 6.37: map types leave out the copies that nobody needs. */
#include "gather.h"

int main(void) {
  prepare();
#pragma omp target map(from : picked) map(to : values) map(alloc : indices)
  {
    for (int i = 0; i < N; ++i)
      indices[i] = ON_DEVICE() ? chosen(i) : 0;
    for (int i = 0; i < N; ++i)
      picked[i] = values[indices[i]];
    values[7] = 8; /* stays there */
  }
  for (int i = 0; i < N; ++i)
    CHECK(indices[i] == UNTOUCHED && picked[i] == 3 * chosen(i) && values[i] == 3 * i);
  return report();
}
