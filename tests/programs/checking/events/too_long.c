/* Sections are longer than their allocations: of the block itself, of a part, behind a member of a structure. */
#include <stdlib.h>

struct list {
  int n;
  double* values;
};

int main(void) {
  const int n = 100;
  double* const x = calloc(n, sizeof *x);
  struct list list = {n, malloc(n * sizeof(double))};
#pragma omp target enter data map(to : x[0 : n + 1]) /* OMP303 */
#pragma omp target
  x[0] = 1;
#pragma omp target exit data map(delete : x[0 : n + 1]) /* what is released is not read */
#pragma omp target map(tofrom : x[90 : 11]) /* OMP303 */
  x[90] = 1;
#pragma omp target map(tofrom : x[90 : 10])
  x[90] = 1;
#pragma omp target map(to : list.values[0 : 2 * n]) /* OMP303 */
  for (int i = 0; i < 200; ++i)
    list.values[i] += i;
  return 0;
}
