/* A region maps more of an array than is present. */
int main(void) {
  int x[20] = {0};
#pragma omp target data map(to : x[0 : 10])
  {
#pragma omp target map(tofrom : x[0 : 20]) /* OMP301 */
    x[19] = 1;
  }
  return 0;
}
