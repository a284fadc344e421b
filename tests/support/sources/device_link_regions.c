// Regions whose device code needs that of another file: SPMD, and generic with a reduction.
#include <stdio.h>

#pragma omp declare target
extern double offset;
double scaled(double x);
#pragma omp end declare target

static void saxpy(int n, double a, const double *x, double *y) {
#pragma omp target teams distribute parallel for map(to : x[0 : n]) map(tofrom : y[0 : n])
  for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

static double sum(int n, const double *x) {
  double total = 0;
#pragma omp target map(to : x[0 : n]) map(tofrom : total)
  {
    double own = offset;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < n; i++) total += scaled(x[i]) + own;
  }
  return total;
}

int main(void) {
  double x[100], y[100];
  for (int i = 0; i < 100; i++) x[i] = i, y[i] = 1;
  saxpy(100, 2, x, y);
  printf("%g %g\n", y[99], sum(100, y));
}
