/* requires unified_shared_memory: the device uses the host's memory. */
#include "check.h"

#pragma omp requires unified_shared_memory

int global = 4;
int linked = 6;
#pragma omp declare target to(global)
#pragma omp declare target link(linked)

int main(void) {
  int* x = calloc(10, sizeof *x);
  int host = 1;
#pragma omp target map(from : host)
  {
    host = omp_is_initial_device();
    x[2] = 22;
    global += 1;
    linked += 1;
  }
  CHECK(!host && x[2] == 22 && global == 5 && linked == 7);
  uintptr_t address = 0;
#pragma omp target map(tofrom : x[0 : 10]) map(from : address)
  address = (uintptr_t)x;
  CHECK(address == (uintptr_t)x);
#pragma omp target data map(tofrom : x[0 : 10]) use_device_ptr(x)
  CHECK((uintptr_t)x == address);
  int own = 3;
#pragma omp target firstprivate(own) map(from : host)
  {
    own = 5;
    host = own;
  }
  CHECK(own == 3 && host == 5);
  free(x);
  return report();
}
