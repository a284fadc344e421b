/* Figure 6.8: an error: a mapped pointer takes the host's address along, and the region follows it. The CPU's
 * device can; what it then writes is the host's memory, though nothing of it is mapped. */
#include "book.h"

enum { N = 100 };

int main(void) {
  char* const block = malloc(N);
  char *cursor = block, *arrived = NULL;
  int on_device = 0;
  memset(block, 1, N);
#pragma omp target map(cursor) map(from : arrived, on_device)
  {
    on_device = ON_DEVICE();
    arrived = cursor;
    for (int i = 0; i < N; ++i)
      *cursor++ = 0;
  }
  CHECK(on_device && arrived == block && cursor == block + N);
  CHECK(!omp_target_is_present(block, omp_get_default_device()));
  for (int i = 0; i < N; ++i)
    CHECK(block[i] == 0);
  free(block);
  if (!failures)
    puts("the region wrote to memory of the host");
  return failures != 0;
}
