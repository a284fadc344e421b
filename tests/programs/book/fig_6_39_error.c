/* Figure 6.39: an error: one member is mapped, and a region inside maps another and uses both. The first is not
 * where the region looks for it: next to its own copy of the second. */
#include "parcel.h"

int main(void) {
  parcel box = {6, 7, 0, NULL};
  uintptr_t mapped = 0, looked = 0;
  int height = 0;
#pragma omp target data map(box.width)
  {
#pragma omp target map(box.width) map(from : mapped)
    mapped = (uintptr_t)&box.width;

#pragma omp target map(box.height) map(from : looked, height)
    {
      looked = ON_DEVICE() ? (uintptr_t)&box.width : 0;
      height = box.height;
    }
  }
  CHECK(mapped && looked && height == 7);
  CHECK(looked != mapped);
  if (!failures)
    puts("the region looked for a member where none is mapped");
  return failures != 0;
}
