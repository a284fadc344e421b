/* Copies by routines: to the device, from one place on it to another, and back. */
#include <omp.h>

int main(void) {
  int x[4] = {1, 2, 3, 4};
  const int host = omp_get_initial_device();
  char* there = omp_target_alloc(2 * sizeof x, 0);
  omp_target_memcpy(there, x, sizeof x, 0, 0, 0, host);
  omp_target_memcpy(there, there, sizeof x, sizeof x, 0, 0, 0);
  x[3] = 0;
  omp_target_memcpy(x, there, sizeof x, 0, sizeof x, host, 0);
  omp_target_free(there, 0);
  return x[3] != 4;
}
