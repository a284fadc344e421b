/* A loop runs far beyond its object, through guard pages and past other objects: one finding, of the right object. */
#include "../openmp/check.h"

enum { N = 1024, FAR = 80 * N };

int main(void) {
  int first[N] = {0}, second[N] = {0}, third[N] = {0};
  int far = FAR, sum = 0;
#pragma omp target map(to : first, second, third, far) map(tofrom : sum)
  {
    for (int i = 0; i < far; ++i)
      sum += first[i] == 7; /* OMP321 */
    second[0] = third[0];
  }
  return report();
}
