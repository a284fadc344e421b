/* Nobody unmaps an array. */
int main(void) {
  static int x[20];
#pragma omp target enter data map(to : x) /* OMP311 */
#pragma omp target
  x[0] = 1;
  return 0;
}
