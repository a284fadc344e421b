/* Two target regions, of which the optimizer leaves one as a function. */
#include <stdio.h>
int omp_is_initial_device(void);
int main(void) {
  int host = 0, sums[4] = {0};
#pragma omp target map(from : host) map(tofrom : sums)
  { host = omp_is_initial_device(); for (int i = 0; i < 4; i++) sums[i] += i; }
#pragma omp target teams distribute parallel for map(tofrom : sums)
  for (int i = 0; i < 4; i++) sums[i] += i;
  printf("%d %d\n", host, sums[3]);
  return 0;
}
