/* The region's `big` is the device's, also where the program exports its own. */
#include <stdio.h>

int big[2] = {1, 2};
#pragma omp declare target link(big)

int main(void) {
  int seen = 0;
#pragma omp target enter data map(to : big)
  big[0] = 60;
#pragma omp target map(from : seen)
  {
    seen = big[0];
    big[0] = 99;
  }
  printf("%d %d ", seen, big[0]);
#pragma omp target exit data map(from : big)
  printf("%d\n", big[0]);
  return 0;
}
