/* A variable that the device's code keeps to itself (DEVICE is defined there). */
#ifdef DEVICE
static
#endif
int lost = 4;
#pragma omp declare target(lost)
#include <stdio.h>

int main(void) {
  int x = 0;
#pragma omp target map(from : x)
  x = lost;
  printf("%d\n", x);
  return 0;
}
