/* Launches of every kind, whose shapes the plugin of test_shapes.py says. */
#include <stdio.h>

enum { N = 1000 };

int main(void) {
  int values[N] = {0}, sum = 0, more = 0;

#pragma omp target map(tofrom : values)
  values[0] += 1;

#pragma omp target teams num_teams(4) thread_limit(8) map(tofrom : more) reduction(+ : more)
  more += 1;

#pragma omp target teams distribute parallel for num_teams(3) thread_limit(16) map(tofrom : values)
  for (int i = 0; i < N; ++i)
    values[i] += i;

#pragma omp target parallel for num_threads(5) map(tofrom : values)
  for (int i = 0; i < N; ++i)
    values[i] += i;

#pragma omp target teams distribute parallel for map(tofrom : values)
  for (int i = 0; i < N / 2; ++i)
    values[i] -= i;

#pragma omp target teams num_teams(2) map(tofrom : values)
#pragma omp distribute
  for (int i = 0; i < 10; ++i)
    values[i] += 1;

#ifdef DYNAMIC_MEMORY
#pragma omp target teams num_teams(2) thread_limit(1) ompx_dyn_cgroup_mem(128) map(tofrom : values)
#pragma omp distribute
  for (int i = 0; i < 10; ++i)
    values[i] += 1;
#endif

  for (int i = 0; i < N; ++i)
    sum += values[i];
  printf("%d %d\n", sum, more >= 1 && more <= 4);
  return 0;
}
