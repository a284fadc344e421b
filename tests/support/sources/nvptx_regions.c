// A region of each kind that clang makes for GPUs. Prints where its arrays are.
#include <stdio.h>

#define N 10000
static double x[N], y[N];

int main(void) {
  double sum = 0;
  int n = N;
  printf("%p %p\n", (void *)x, (void *)y);
#pragma omp target teams distribute parallel for map(to : x) map(tofrom : y)
  for (int i = 0; i < n; ++i)
    y[i] += 2 * x[i];
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : x)
  for (int i = 0; i < n; ++i)
    sum += x[i];
#pragma omp target map(tofrom : y)
  {
    y[0] = 1;
#pragma omp parallel for
    for (int i = 0; i < n; ++i)
      y[i] += i;
  }
#pragma omp target teams num_teams(7) thread_limit(64) map(tofrom : y)
  y[1] = 3;
  return 0;
}
