/* Prints whether x is present before and after it is mapped. */
#include <stdio.h>

int *map(int *);
int find(int *);

int main(void) {
  static int x[4];
  printf("%d", find(x));
  printf("%d\n", find(map(x)));
  return 0;
}
