/* A kernel that has begun ends its worker, the third one. */
#include <signal.h>
#include <stdio.h>

int main(void) {
#pragma omp target device(2)
  raise(SIGKILL);
  puts("goes on");
  return 0;
}
