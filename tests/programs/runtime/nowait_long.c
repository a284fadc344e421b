/* Prints how many threads a parallel region has in the kernel of a task: at the kernel's first launch, and at most.
 *
 * Usage: nowait_long MICROSECONDS: how long the kernel takes */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLaunches = 100 };

int main(int count, char** words) {
  const double seconds = count > 1 ? atoi(words[1]) * 1e-6 : 0;
  int first = 0, most = 0, threads = 0;
  for (int i = 0; i < kLaunches; ++i) {
#pragma omp target nowait map(from : threads) firstprivate(seconds)
    {
      const double end = omp_get_wtime() + seconds;
#pragma omp parallel
#pragma omp single
      threads = omp_get_num_threads();
      while (omp_get_wtime() < end)
        ;
    }
#pragma omp taskwait
    if (i == 0)
      first = threads;
    if (threads > most)
      most = threads;
  }
  printf("%d %d\n", first, most);
  return 0;
}
