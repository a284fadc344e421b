int NAME(void);
static int region(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = VALUE;
  return x;
}
int NAME(void) { return region(); }
