/* Figure 6.56: a region without a wait runs beside a loop on the host; both call the same function. */
#include "book.h"

static int larger(int left, int right) {
  return left > right ? left : right;
}
#pragma omp declare target(larger)

static int difference(signed char* there, short* restrict here, int n) {
  int on_device = 0;
#pragma omp target nowait map(there[0 : n]) map(from : on_device)
  {
    on_device = ON_DEVICE();
    for (int i = 0; i < n; ++i)
      there[i] = larger(there[i], 0);
  }
  for (int i = 0; i < n; ++i)
    here[i] = larger(here[i], 0);
#pragma omp taskwait
  for (int i = 0; i < n; ++i)
    here[i] = here[i] - there[i];
  return on_device;
}

int main(void) {
  enum { N = 100 };
  signed char there[N];
  short here[N];
  for (int i = 0; i < N; ++i) {
    there[i] = 30 - i;
    here[i] = 3 * i - 60;
  }
  CHECK(difference(there, here, N));
  for (int i = 0; i < N; ++i)
    CHECK(here[i] == (i > 20 ? 3 * i - 60 : 0) - (i < 30 ? 30 - i : 0));
  return report();
}
