/* A region on each device, and an array on all of them, one after the other. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const int devices = omp_get_num_devices(), size = 1 << 20;
  double* const values = calloc((size_t)size, sizeof *values);
  for (int device = 0; device < devices; ++device) {
    int on_host = 1;
#pragma omp target map(from : on_host) device(device)
    on_host = omp_is_initial_device();
#pragma omp target teams distribute parallel for map(tofrom : values[ : size]) device(device)
    for (int i = 0; i < size; ++i)
      values[i] += i;
    if (on_host)
      printf("device %d is the host\n", device);
  }
  int wrong = 0;
  for (int i = 0; i < size; ++i)
    wrong += values[i] != (double)i * devices;
  printf("%d devices, %d wrong\n", devices, wrong);
  free(values);
  return wrong != 0;
}
