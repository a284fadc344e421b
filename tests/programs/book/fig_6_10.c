/* Figure 6.10: memory of the device, through a pointer that the host only holds. */
#include "book.h"

enum { N = 1000 };

int main(void) {
  int const device = omp_get_default_device();
  char copy[N], *cursor = omp_target_alloc(N, device);
  char* const start = cursor;
  memset(copy, 1, N);
#pragma omp target is_device_ptr(cursor)
  for (int i = 0; i < N; ++i)
    *cursor++ = ON_DEVICE() ? 0 : 2;
  CHECK(cursor == start); /* the region moved a pointer of its own */
  CHECK(omp_target_memcpy(copy, start, N, 0, 0, omp_get_initial_device(), device) == 0);
  for (int i = 0; i < N; ++i)
    CHECK(copy[i] == 0);
  omp_target_free(start, device);
  return report();
}
