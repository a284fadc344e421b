/* A region whose tasks take part in a reduction of its threads. */
#include <stdio.h>

int main(void) {
  int tasks = 0;
#pragma omp target map(tofrom : tasks)
#pragma omp parallel num_threads(3) reduction(task, + : tasks)
#pragma omp single
  for (int i = 0; i < 10; ++i)
#pragma omp task in_reduction(+ : tasks) firstprivate(i)
    tasks += i;
  printf("%d\n", tasks);
  return 0;
}
