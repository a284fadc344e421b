int twice(int value) {
#pragma omp target map(tofrom : value)
  value *= 2;
  return value;
}
