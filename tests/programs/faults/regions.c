/* Two regions; the tests change the built program. */
#include <stdio.h>

static int first(int x) {
#pragma omp target map(tofrom : x)
  x += 100;
  return x;
}

static int second(int x) {
#pragma omp target map(tofrom : x)
  x += 200;
  return x;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 3; ++i)
    sum += first(i) + 10000 * second(i);
  printf("%d\n", sum); /* 100 + 101 + 102, 200 + 201 + 202 */
  return 0;
}
