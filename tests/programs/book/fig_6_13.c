/* Figure 6.13: one slice of a large array at a time goes through the device's memory. */
#include "book.h"

enum { SLICE = 4096, SLICES = 64 };
static int squares[SLICE * SLICES];

static int fill(const int x, const int y) {
  int slices_on_device = 0;
  for (int at = 0; at < SLICE * SLICES; at += SLICE) {
#pragma omp target map(from : squares[at : SLICE]) firstprivate(x, y) map(tofrom : slices_on_device)
    {
      slices_on_device += ON_DEVICE();
      for (int i = 0; i < SLICE; ++i)
        squares[at + i] = (at + i) * (x - y);
    }
    CHECK(!omp_target_is_present(&squares[at], omp_get_default_device()));
  }
  return slices_on_device;
}

int main(void) {
  CHECK(fill(9, 4) == SLICES);
  for (int i = 0; i < SLICE * SLICES; ++i)
    CHECK(squares[i] == i * 5);
  return report();
}
