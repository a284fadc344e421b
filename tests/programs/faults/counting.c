/* A library: counts on the device. */
int count = 1;
#pragma omp declare target(count)
int next(void);
int next(void) {
  int n = 0;
#pragma omp target map(from : n)
  n = count++;
  return n;
}
