/* An object that must be present and is not: SIGABRT. */
#include "check.h"

int main(void) {
  int x[10] = {0};
#pragma omp target map(present, tofrom : x)
  x[0] = 1;
  return report();
}
