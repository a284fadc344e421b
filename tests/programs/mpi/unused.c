/* Throws a mapped variable away that nothing could use, on device 1. */
int main(void) {
  int values[8] = {0};
#pragma omp target device(1)
  {
  }
#pragma omp target enter data map(to : values) device(1)
#pragma omp target exit data map(delete : values) device(1)
  return 0;
}
