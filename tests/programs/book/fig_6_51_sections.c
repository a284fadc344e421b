/* Figure 6.51: two sections of one array in one clause. */
#include "book.h"

enum { N = 4096 };
double field[N];
#pragma omp declare target(field)

int main(void) {
#pragma omp target
  field[0] = field[N - 1] = ON_DEVICE();
#pragma omp target update from(field[0 : 1], field[N - 1 : 1])
  CHECK(field[0] == 1 && field[N - 1] == 1);
  return report();
}
