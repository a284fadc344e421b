/* Regions that read device memory which nobody has written: mapped by `from` and by `alloc`, allocated by a routine,
 * and by an instruction that reads and writes at once. */
#include "../openmp/check.h"

enum { N = 100000 };

int main(void) {
  int few[10], sum = 0, count = 0;
  int* many = malloc(N * sizeof *many);
#pragma omp target map(from : few)
  for (int i = 0; i < 10; ++i)
    few[i] += i; /* OMP322 */
#pragma omp target map(alloc : many[0 : N]) map(tofrom : sum)
  {
    many[0] = 1;
    sum += many[0];
    sum += many[N - 1] == 12345; /* OMP322: far from what was written */
  }
#pragma omp target map(from : count)
  count += 1; /* OMP322 */
  int* routine = omp_target_alloc(N, omp_get_default_device());
#pragma omp target is_device_ptr(routine) map(tofrom : sum)
  sum += routine[0] == 12345; /* OMP322 */
  omp_target_free(routine, omp_get_default_device());
  CHECK(sum == 1);
  free(many);
  return report();
}
