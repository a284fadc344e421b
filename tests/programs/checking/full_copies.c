/* Copies that a `target data` would save: the same bytes again, bytes that come back and go again, and `always` in
 * vain. The numbers are bytes in all. */
#include "../openmp/check.h"

enum { N = 1000, TIMES = 5 };

static int table[N], state[N], settings[N];

int main(void) {
  int sum = 0;
  for (int i = 0; i < N; ++i)
    table[i] = settings[i] = i;
  for (int time = 0; time < TIMES; ++time) {
#pragma omp target map(to : table) map(tofrom : sum) /* OMP332 16000 */
    for (int i = 0; i < N; ++i)
      sum += table[i] > 0;
  }
  for (int time = 0; time < TIMES; ++time) {
#pragma omp target map(tofrom : state) /* OMP333 32000 */
    for (int i = 0; i < N; ++i)
      state[i] += 1;
  }
#pragma omp target data map(to : settings)
  for (int time = 0; time < TIMES; ++time) {
#pragma omp target map(always, to : settings) map(tofrom : sum) /* OMP334 20000 */
    for (int i = 0; i < N; ++i)
      sum += settings[i] > 0;
  }
  CHECK(sum == 2 * TIMES * (N - 1) && state[0] == TIMES);
  return report();
}
