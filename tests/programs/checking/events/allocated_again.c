/* Each turn of a loop gets the device's memory anew. */
int main(void) {
  double x[100] = {0}, kept[100] = {0}, sum = 0;
#pragma omp target data map(kept)
  for (int i = 0; i < 10; ++i) {
#pragma omp target map(tofrom : x) /* OMP315 9 times */
    x[i] += 1;
#pragma omp target
    kept[i] += 1;
#pragma omp target map(tofrom : sum) /* scalars cost nothing */
    sum += 1;
  }
  return sum != 10;
}
