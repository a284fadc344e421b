/* Figure 6.42: an error: a region that maps the pointer itself follows the host's address past the mapped
 * copy. The CPU's device writes to the host's memory, and the copy then comes back over it. */
#include "book.h"

static int mark(char* at) {
  at[3] = 'x';
  return ON_DEVICE();
}
#pragma omp declare target(mark)

int main(void) {
  char* block = calloc(1024, 1);
  int on_device = 0;
#pragma omp target data map(block[ : 1024])
  {
#pragma omp target map(block) map(from : on_device)
    on_device = mark(block);
    CHECK(block[3] == 'x');
  }
  CHECK(on_device && block[3] == 0);
  free(block);
  if (!failures)
    puts("what the region wrote is lost");
  return failures != 0;
}
