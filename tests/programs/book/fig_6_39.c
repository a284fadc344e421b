/* Figure 6.39: a whole structure, some of its members, and what a member points to. Its last part is an
 * error: fig_6_39_error.c. */
#include "parcel.h"

int main(void) {
  int items[4] = {1, 2, 3, 4}, result = 0;
  parcel box = {6, 7, 4, items};

#pragma omp target map(from : result) /* all of it */
  result = area(box.width, box.height);
  CHECK(result == 42);

#pragma omp target map(box.width, box.height) map(from : result)
  result = area(box.width, box.height);
  CHECK(result == 42);

#pragma omp target map(box, box.items[ : box.count]) map(from : result)
  result = total(box.items, box.count);
  CHECK(result == 10 && box.items == items);

#pragma omp target map(box.width) map(from : result) /* its address is good for that member */
  result = widened(&box);
  CHECK(result == 7 && box.width == 7 && box.height == 7);

#pragma omp target data map(box.width, box.height) /* the remedy for the error */
  {
#pragma omp target map(box.height) map(from : result)
    result = area(box.width, box.height);
  }
  CHECK(result == 49);
  return report();
}
