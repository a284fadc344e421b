/* A region between a constructor and a destructor, which say when they run. */
#include <stdio.h>

__attribute__((constructor)) static void early(int count, char** words) {
  printf("constructor with %d words, %s\n", count, words[1]);
  fflush(stdout);
}

__attribute__((destructor)) static void late(void) { puts("destructor"); }

int main(int count, char** words) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  sum = 42;
  printf("%d\n", sum + count - 2);
  return words[2] != 0;
}
