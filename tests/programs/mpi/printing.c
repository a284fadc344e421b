/* A kernel prints. Each line is one write, also where MPI makes the output unbuffered: printf of a text alone is puts. */
#include <stdio.h>

int main(void) {
#pragma omp target
  printf("from the %s\n", "kernel");
  printf("from the %s\n", "program");
  return 0;
}
