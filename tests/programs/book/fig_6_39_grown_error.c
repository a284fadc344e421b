/* Figure 6.39: the same error, to the runtime's face: the region maps both members, one of which is there. */
#include "parcel.h"

int main(void) {
  parcel box = {6, 7, 0, NULL};
  int result = 0;
#pragma omp target data map(box.width)
  {
#pragma omp target map(box.width, box.height) map(from : result)
    result = area(box.width, box.height);
  }
  printf("went on with %d\n", result);
  return 1;
}
