/* Prints the number of devices, the default device, and where a region ran. */
#include <omp.h>
#include <stdio.h>

int main(void) {
  int x = 0, *here = &x;
#pragma omp target map(always, tofrom : x) map(to : here)
  x = here == &x;
  printf("%d %d %s\n", omp_get_num_devices(), omp_get_default_device(), x ? "host" : "device");
  return 0;
}
