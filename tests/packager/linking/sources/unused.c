// A region that no program needs.
int unused(int value) {
#pragma omp target map(tofrom : value)
  value += 1;
  return value;
}
