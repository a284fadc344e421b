/* An object ends with a copy back of its first half (DRACC 027's kind). */
#include <stdlib.h>

int main(void) {
  const int n = 100;
  double* const c = calloc(n, sizeof *c);
#pragma omp target enter data map(to : c[0 : n])
#pragma omp target
  for (int i = 0; i < n; ++i)
    c[i] = i;
#pragma omp target exit data map(from : c[0 : n / 2]) /* OMP318 */
#pragma omp target enter data map(to : c[0 : n])
#pragma omp target
  c[n - 1] = 1;
#pragma omp target update from(c[n / 2 : n / 2])
#pragma omp target exit data map(from : c[0 : n])
  free(c);
  return 0;
}
