/* Figure 6.61: a function of the host that wants an address of the device gets it through use_device_ptr.
 * The figure's clause names an array (fig_6_61_array.c): here a pointer to it, and use_device_addr, do it. The
 * figure also maps the function's result, which the end of the construct then replaces with the device's: not here. */
#include "book.h"

enum { N = 1024 };
int table[N];
#pragma omp declare target to(table)

static int fill(int* there, int from) {
  int on_device = 0;
#pragma omp target is_device_ptr(there) map(from : on_device)
  {
    on_device = ON_DEVICE();
    for (int i = 0; i < N; ++i)
      there[i] = from + i;
  }
  return on_device;
}

int main(void) {
  int *at = table, ran = 0;
#pragma omp target data use_device_ptr(at)
  {
    CHECK(at != table);
    ran = fill(at, 5);
  }
  CHECK(ran && at == table && table[1] == 0);
#pragma omp target update from(table)
  for (int i = 0; i < N; ++i)
    CHECK(table[i] == 5 + i);

#pragma omp target data use_device_addr(table)
  ran = fill(table, 7);
  CHECK(ran && table[1] == 6);
#pragma omp target update from(table)
  for (int i = 0; i < N; ++i)
    CHECK(table[i] == 7 + i);
  return report();
}
