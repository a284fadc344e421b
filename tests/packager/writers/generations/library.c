/* A library with a region, which programs load and drop. */
#include <omp.h>

int twice(int x) {
  int on_host = 1;
#pragma omp target map(tofrom : x, on_host)
  {
    on_host = omp_is_initial_device();
    x *= 2;
  }
  return on_host ? -1 : x;
}
