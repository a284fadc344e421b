/* Updates of sections of bytes, whose dimensions do not say which clang has written them. */
#include <stdio.h>
#include <string.h>

enum { ROWS = 20, COLUMNS = 30 };

int main(void) {
  char a[ROWS][COLUMNS];
  memset(a, 0, sizeof a);
#pragma omp target data map(to : a)
  {
#pragma omp target
    for (int i = 0; i < ROWS; ++i)
      for (int j = 0; j < COLUMNS; ++j)
        a[i][j] = 1;
#pragma omp target update from(a[2 : 3][4 : 5])
  }
  int sum = 0, right = 0;
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) {
      sum += a[i][j];
      right += a[i][j] && i >= 2 && i < 5 && j >= 4 && j < 9;
    }
  printf("%d %d\n", sum, right);
  return 0;
}
