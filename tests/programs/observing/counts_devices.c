/* Asks how many devices there are; its region does not run. */
#include <omp.h>

int main(int argc, char** argv) {
  if (argc > 1)
#pragma omp target
  {
  }
  (void)argv;
  return omp_get_num_devices() < 1;
}
