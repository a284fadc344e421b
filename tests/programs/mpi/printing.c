/* A kernel prints. */
#include <stdio.h>

int main(void) {
#pragma omp target
  printf("from the kernel\n");
  printf("from the program\n");
  return 0;
}
