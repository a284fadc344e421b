#include <stdio.h>

int twice(int value);

int main(void) {
  int value = 6;
#pragma omp target map(tofrom : value)
  value += 1;
  printf("%d\n", twice(value));
  return 0;
}
