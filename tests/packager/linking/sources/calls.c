// A region of its own, and one behind a function of another object: prints both sums.
#include <stdio.h>

int summed(int n);

int main(void) {
  int own = 0;
#pragma omp target map(tofrom : own)
  for (int i = 1; i <= 4; i++)
    own += i;
  printf("%d %d\n", own, summed(5));
  return 0;
}
