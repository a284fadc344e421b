/* More of an array than is present: SIGABRT. */
#include "check.h"

int main(void) {
  int x[20] = {0};
#pragma omp target data map(tofrom : x[0 : 5])
#pragma omp target map(tofrom : x[0 : 10])
  x[0] = 1;
  return report();
}
