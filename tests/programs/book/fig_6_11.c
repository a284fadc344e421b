/* Figure 6.11: a section maps what a pointer points to; the pointer itself is private. */
#include "book.h"

enum { N = 1024 };

int main(void) {
  char* const block = malloc(N);
  char* cursor = block;
  int on_device = 0;
  memset(block, 1, N);
#pragma omp target map(cursor[0 : N]) map(from : on_device)
  {
    on_device = ON_DEVICE();
    for (int i = 0; i < N; ++i)
      cursor[i] = 0;
    cursor = NULL;
  }
  CHECK(on_device && cursor == block);
  for (int i = 0; i < N; ++i)
    CHECK(block[i] == 0);
  free(block);
  return report();
}
