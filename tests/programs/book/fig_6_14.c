/* Figure 6.14: the region says itself where it runs: the "ok" comes from the device. */
#include "book.h"

int main(void) {
#pragma omp target
  {
    if (omp_is_initial_device())
      printf("on the host\n");
    else
      printf("ok\n");
  }
  return 0;
}
