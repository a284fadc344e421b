/* Regions that do not wait: each ends only when all others have begun; then regions, data and host tasks in an order
 * that depend clauses give.
 *
 * Usage: nowait REGIONS, at most libomp's threads for tasks */
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 16 };

int main(int count, char** words) {
  const int regions = count > 1 ? atoi(words[1]) : 1;
  int come = 0, all = 0;
  int* const where = &come; /* kernels of the CPU device can use it */
  int seen[kMost] = {0};
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < regions; ++i) {
#pragma omp target nowait is_device_ptr(where) map(tofrom : seen[i : 1]) firstprivate(i, regions)
      {
        __atomic_fetch_add(where, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(where, __ATOMIC_ACQUIRE) < regions)
          ;
        seen[i] = i + 1;
      }
    }
#pragma omp taskwait
    for (int i = 0; i < regions; ++i)
      all += seen[i];
  }
  if (all != regions * (regions + 1) / 2)
    return printf("not all regions have run: %d\n", all), 1;

  int a = 1, b = 0, host = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp target enter data map(to : a) map(alloc : b) nowait depend(out : a, b)
    for (int i = 0; i < 20; ++i) {
#pragma omp target nowait depend(inout : a) map(tofrom : a)
      a += 1;
    }
#pragma omp target nowait depend(in : a) depend(out : b) map(tofrom : a, b)
    b = 2 * a;
#pragma omp target update from(b) nowait depend(inout : b)
#pragma omp task depend(in : b) shared(host)
    host = b;
#pragma omp target exit data map(from : a) map(release : b) nowait depend(inout : a, b)
#pragma omp taskwait
    if (a != 21 || b != 42 || host != 42)
      printf("wrong: %d %d %d\n", a, b, host), all = 0;
  }
  if (!all)
    return 1;
  printf("right\n");
  return 0;
}
