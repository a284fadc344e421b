/* Calls every library of PARTS, a list of P(name), on what it has mapped. */
#include <stdio.h>

#define P(name) void name(int *, int);
PARTS
#undef P

int main(void) {
  int x[4] = {1, 2, 3, 4}, *p = x;
#pragma omp target data map(tofrom : x)
  {
#define P(name) name(x, 4);
    PARTS
#undef P
#pragma omp target
    x[3] *= 2;
    printf("%d ", p[0]);
  }
  printf("%d %d\n", x[0], x[3]);
  return 0;
}
