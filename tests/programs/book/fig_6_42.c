/* Figure 6.42: a section of length zero, and a pointer in no clause, find what is mapped where they point.
 * Its last part is an error: fig_6_42_error.c. */
#include "book.h"

static int mark(char* at, char sign) {
  at[3] = sign;
  return ON_DEVICE();
}
#pragma omp declare target(mark)

int main(void) {
  char buffer[128] = {0}, *block = calloc(1024, 1), *start = buffer;
  int by_section = 0, by_default = 0;
#pragma omp target data map(block[ : 1024], buffer)
  {
#pragma omp target map(block[ : 0]) map(from : by_section)
    by_section = mark(block, 'b');

#pragma omp target map(from : by_default)
    by_default = mark(start, 's');
    CHECK(block[3] == 0 && buffer[3] == 0); /* both wrote to the device's memory */
  }
  CHECK(by_section && by_default && block[3] == 'b' && buffer[3] == 's');
  free(block);
  return report();
}
