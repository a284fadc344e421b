/* A section begins in what is present and ends behind it. */
int main(void) {
  int x[20] = {0};
#pragma omp target enter data map(to : x[0 : 10])
#pragma omp target enter data map(to : x[5 : 10]) /* OMP301 */
  return 0;
}
