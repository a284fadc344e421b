/* Constructs and routines for a tool to hear of. */
#include <omp.h>

int main(void) {
  int x[4] = {0};
#pragma omp target map(tofrom : x)
  x[0] = 1;
#pragma omp target data map(to : x)
  {
#pragma omp target teams distribute parallel for num_teams(2)
    for (int i = 0; i < 4; ++i)
      x[i] = i;
#pragma omp target update from(x)
  }
#pragma omp target enter data map(to : x)
#pragma omp target exit data map(delete : x)
  const int host = omp_get_initial_device();
  void* there = omp_target_alloc(sizeof x, 0);
  omp_target_memcpy(there, x, sizeof x, 0, 0, 0, host);
  omp_target_memcpy(x, there, sizeof x, 0, 0, host, 0);
  omp_target_associate_ptr(x, there, sizeof x, 0, 0);
  omp_target_disassociate_ptr(x, 0);
  omp_target_free(there, 0);
  return 0;
}
