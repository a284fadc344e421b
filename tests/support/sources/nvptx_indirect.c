// A region that calls a function by its address. Prints where the functions are on the host.
#include <stdio.h>

int one(int x) { return x + 1; }
int two(int x) { return x * 2; }
#pragma omp declare target enter(one, two) indirect

int main(void) {
  int (*which)(int) = two;
  int result = 0;
  printf("%p %p\n", (void *)one, (void *)two);
#pragma omp target map(from : result) firstprivate(which)
  result = which(4);
  return 0;
}
