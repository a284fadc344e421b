/* Figure 6.26: distribute shares a loop's iterations among the initial threads of a league. */
#include "saxpy.h"

static int saxpy(float* restrict y, const float* restrict x, float a, int n) {
  int on_device = 0;
#pragma omp target teams map(y[ : n]) map(to : x[ : n]) map(from : on_device)
#pragma omp distribute
  for (int i = 0; i < n; ++i) {
    if (i == 0)
      on_device = ON_DEVICE();
    y[i] = y[i] + a * x[i];
  }
  return on_device;
}

int main(void) {
  return saxpy_holds(saxpy);
}
