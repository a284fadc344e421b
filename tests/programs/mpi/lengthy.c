/* Maps more than is present, on device 1. */
int main(void) {
  int values[8] = {0};
#pragma omp target enter data map(to : values[ : 4]) device(1)
#pragma omp target map(to : values[ : 8]) device(1)
  ++values[0];
  return 0;
}
