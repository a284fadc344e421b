/* A device number that names no device: SIGABRT. */
#include "check.h"

int main(void) {
  int x = 0;
#pragma omp target device(7) map(tofrom : x)
  x = 1;
  return report();
}
