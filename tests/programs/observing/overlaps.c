/* Two regions that need not wait for each other, each some tenths of a second long. */
static void spend(double* x) {
  for (long i = 0; i < 100000000; ++i)
    *(volatile double*)x += 1;
}

int main(void) {
  double x = 0, y = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target nowait map(tofrom : x)
    spend(&x);
#pragma omp target nowait map(tofrom : y)
    spend(&y);
#pragma omp taskwait
  }
  return x != y;
}
