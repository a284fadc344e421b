/* A routine is the first that the program asks of the runtime. */
#include <omp.h>

int main(void) {
  void* const there = omp_target_alloc(8, 0);
  omp_target_free(there, 0);
#pragma omp target
  {
  }
  return 0;
}
