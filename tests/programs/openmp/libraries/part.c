/* A library whose region adds STEP to what is mapped, and once more what it counts on the device. */
static int calls;
#pragma omp declare target(calls)
static void region(int *x, int n) {
  #pragma omp target map(tofrom : x[0 : n])
  { calls++; for (int i = 0; i < n; ++i) x[i] += STEP + calls; }
}
void NAME(int *x, int n);
void NAME(int *x, int n) { region(x, n); }
