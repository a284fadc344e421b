/* One object of two: its region adds one, and the other object's doubles. */
#include <stdio.h>

void twice(int *x, int n);

int main(void) {
  int x[4] = {1, 2, 3, 4};
#pragma omp target data map(tofrom : x)
  {
#pragma omp target
    for (int i = 0; i < 4; ++i)
      ++x[i];
    twice(x, 4);
#pragma omp target teams distribute parallel for
    for (int i = 0; i < 4; ++i)
      ++x[i];
  }
  printf("%d %d %d %d\n", x[0], x[1], x[2], x[3]);
  return 0;
}
