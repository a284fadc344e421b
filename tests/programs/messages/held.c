/* Disassociates what a construct holds. */
#include <omp.h>

int x[4];

int main(void) {
  int result = 0;
  omp_target_associate_ptr(x, omp_target_alloc(sizeof x, 0), sizeof x, 0, 0);
#pragma omp target data map(ompx_hold, tofrom : x)
  result = omp_target_disassociate_ptr(x, 0);
  return result != -1;
}
