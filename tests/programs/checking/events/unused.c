/* An array is mapped and unmapped, and no region runs meanwhile. */
#include <stdlib.h>

void library(double* there) {
  (void)there;
}

int main(void) {
  double x[100] = {0}, y[100] = {0}, *z = calloc(100, sizeof *z);
#pragma omp target enter data map(to : x) /* OMP316 */
#pragma omp target exit data map(delete : x)
#pragma omp target enter data map(to : y)
#pragma omp target
  y[0] = 1;
#pragma omp target exit data map(delete : y)
#pragma omp target data map(to : z[0 : 100]) use_device_ptr(z)
  library(z);
  return 0;
}
