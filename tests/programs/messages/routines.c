/* Routines, for LIBOMPTARGET_INFO. Nothing else is mapped: LLVM calls what they copy by its name. */
#include <omp.h>

int main(void) {
  int x[6] = {0};
  const size_t volume[] = {2, 2}, at[] = {0, 1}, size[] = {2, 3};
  const int host = omp_get_initial_device();
  void* there = omp_target_alloc(sizeof x, 0);
  omp_target_memcpy(there, x, sizeof x, 0, 0, 0, host);
  omp_target_memcpy_rect(x, there, sizeof(int), 2, volume, at, at, size, size, host, 0);
  omp_target_memset(there, 1, sizeof x, 0);
  omp_target_associate_ptr(x, there, sizeof x, 0, 0);
#pragma omp target map(always, from : x)
  x[0] = omp_target_is_present(x, 0);
  omp_target_disassociate_ptr(x, 0);
  omp_target_free(there, 0);
  return 0;
}
