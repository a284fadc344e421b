/* A region that says whether it ran on the device: there its array has another address. It needs no libomp. */
#include <stdint.h>
#include <stdio.h>

enum { SIZE = 1000 };

int main(void) {
  static float x[SIZE], y[SIZE];
  const uintptr_t here = (uintptr_t)y;
  int is_host = 1;
  for (int i = 0; i < SIZE; i++) {
    x[i] = (float)i;
    y[i] = 1;
  }
#pragma omp target map(from : is_host) map(to : x) map(tofrom : y)
  {
    is_host = (uintptr_t)y == here;
    for (int i = 0; i < SIZE; i++)
      y[i] += 2 * x[i];
  }
  printf("ran on the %s: %g\n", is_host ? "host" : "device", y[SIZE - 1]);
  return 0;
}
