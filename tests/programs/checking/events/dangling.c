/* Pointers lead to host memory that is not mapped. */
#include <omp.h>
#include <stdlib.h>

struct list {
  int n;
  double* values;
};

int main(void) {
  double* x = calloc(8, sizeof *x);
  struct list list = {8, x};
  double* const own = omp_target_alloc(64, omp_get_default_device());
  double* nothing = NULL;
  int is_null = 0;
#pragma omp target map(from : is_null) /* OMP313 */
  is_null = x == NULL;
#pragma omp target map(to : list) map(from : is_null) /* OMP313 */
  is_null = list.values == NULL;
  struct list other = list;
#pragma omp target map(tofrom : other) map(to : other.values[0 : 8]) map(from : is_null)
  is_null = other.values == NULL;
#pragma omp target map(from : is_null)
  is_null = own == NULL && nothing == NULL;
  omp_target_free(own, omp_get_default_device());
  free(x);
  return 0;
}
