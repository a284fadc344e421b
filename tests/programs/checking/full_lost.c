/* The host reads variables whose results on the device were thrown away: by `to`, and by `delete`. A result that nobody
 * reads is only a hint. */
#include "../openmp/check.h"

enum { N = 1000 };

static int sent[N], deleted[N], scratch[N], overwritten[N];

int main(void) {
  int sum = 0;
#pragma omp target map(to : sent) /* OMP331 */
  for (int i = 0; i < N; ++i)
    sent[i] = i + 1;
  for (int i = 0; i < N; ++i)
    sum += sent[i]; /* OMP323 */
  CHECK(sum == 0);

#pragma omp target enter data map(to : deleted)
#pragma omp target
  deleted[0] = 3;
#pragma omp target exit data map(delete : deleted) /* OMP331 */
  CHECK(deleted[0] == 0);                          /* OMP323 */

#pragma omp target map(alloc : scratch) /* what OpenMP has for scratch memory */
  for (int i = 0; i < N; ++i)
    scratch[i] = i;

#pragma omp target map(to : overwritten) /* OMP331 */
  for (int i = 0; i < N; ++i)
    overwritten[i] = i;
  for (int i = 0; i < N; ++i)
    overwritten[i] = 4;
  for (int i = 0; i < N; ++i)
    sum += overwritten[i];
  CHECK(sum == 4 * N);

  static int one[N], other[N], third[N];
#pragma omp target map(to : one, other) map(to : third) /* OMP331 */
  for (int i = 0; i < N; ++i)
    one[i] = other[i] = third[i] = i;
  return report();
}
