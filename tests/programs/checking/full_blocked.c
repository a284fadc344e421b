/* The program blocks all signals before its first region, so that the threads that run its kernels begin so. */
#include "../openmp/check.h"
#include <signal.h>

enum { N = 100 };

int main(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  int values[N], last = N;
#pragma omp target map(from : values) map(to : last)
  for (int i = 0; i <= last; ++i)
    values[i] = i; /* OMP321 */
  CHECK(values[N - 1] == N - 1);
  return report();
}
