/* Two list items of one construct overlap, and nothing of them is present. */
int main(void) {
  int x[20] = {0};
#pragma omp target map(tofrom : x[0 : 10]) map(tofrom : x[5 : 10]) /* OMP302 */
  x[7] = 1;
  return 0;
}
