/* Figure 6.27: two teams take half of the loop each, and share it among their threads, by hand. */
#include "saxpy.h"

static int saxpy(float* restrict y, const float* restrict x, float a, int n) {
  int on_device = 0;
#pragma omp target teams map(y[ : n]) map(to : x[ : n]) map(from : on_device) num_teams(2)
#pragma omp distribute
  for (int half = 0; half < n; half += n / 2) {
    if (half == 0)
      on_device = ON_DEVICE();
#pragma omp parallel num_threads(4)
#pragma omp for
    for (int i = half; i < half + n / 2; ++i)
      y[i] = y[i] + a * x[i];
  }
  return on_device;
}

int main(void) {
  return saxpy_holds(saxpy);
}
