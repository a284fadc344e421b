/* Calls two libraries in turn. */
#include <stdio.h>

void one(int *, int);
void two(int *, int);

int main(void) {
  int x[1] = {0};
  one(x, 1);
  printf("%d ", x[0]);
  two(x, 1);
  printf("%d ", x[0]);
  one(x, 1);
  printf("%d\n", x[0]);
  return 0;
}
