/* Figure 6.40: pointers of sections and scalars are private in a region without further words. */
#include "saxpy.h"

static int saxpy(float* restrict y, const float* restrict x, float a, int n) {
  float* const before = y;
  int const length = n;
  int on_device = 0;
#pragma omp target teams map(y[ : n]) map(to : x[ : n]) map(from : on_device)
  {
#pragma omp distribute
    for (int i = 0; i < n; ++i) {
      if (i == 0)
        on_device = ON_DEVICE();
      y[i] = y[i] + a * x[i];
    }
    n = 0; /* each initial thread's own */
    a = 0;
    y = NULL;
  }
  CHECK(n == length && a == 0.5f && y == before);
  return on_device;
}

int main(void) {
  return saxpy_holds(saxpy);
}
