/* Figure 6.61: use_device_ptr with an array, as OpenMP 4.5 had it. */
#include "book.h"

int table[1024];
#pragma omp declare target to(table)

static int clear(int* there) {
  int on_device = 0;
#pragma omp target is_device_ptr(there) map(from : on_device)
  {
    there[1] = 5;
    on_device = ON_DEVICE();
  }
  return on_device;
}

int main(void) {
  int ran = 0;
#pragma omp target data use_device_ptr(table)
  ran = clear(table);
  CHECK(ran && table[1] == 0);
#pragma omp target update from(table)
  CHECK(table[1] == 5);
  return report();
}
