/* Two list items of one construct overlap. The whole array is present, so that the program goes on. */
int main(void) {
  int x[20] = {0};
#pragma omp target data map(tofrom : x)
  {
#pragma omp target map(tofrom : x[0 : 10]) map(tofrom : x[5 : 10]) /* OMP302 */
    x[7] = 1;
  }
  return x[7] != 1;
}
