/* Figure 6.9: an error: a region hands out memory that it got on the device, and the host follows the address.
 * The CPU's device has the host's heap, so the memory is there, but it is no object that the runtime knows. */
#include "book.h"

enum { N = 100 };

int main(void) {
  char* cursor = NULL;
  int on_device = 0;
#pragma omp target map(cursor) map(from : on_device)
  {
    on_device = ON_DEVICE();
    cursor = malloc(N);
  }
  char* const block = cursor;
  CHECK(on_device && block);
  CHECK(!omp_target_is_present(block, omp_get_default_device()));
  for (int i = 0; i < N; ++i)
    *cursor++ = 0;
  CHECK(cursor == block + N);
  free(block);
  if (!failures)
    puts("the host wrote to memory of the device");
  return failures != 0;
}
