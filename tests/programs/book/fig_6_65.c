/* Figures 6.64 and 6.65: a square out of a matrix of the device lands in the middle of one of the host's. */
#include "book.h"

enum { N = 8, PART = 4, OFFSET = 2 };

static int copy_square(void* to, const void* from, int to_device, int from_device) {
  size_t const volume[2] = {PART, PART}, size[2] = {N, N};
  size_t const to_offset[2] = {OFFSET, OFFSET}, from_offset[2] = {0, 0};
  return omp_target_memcpy_rect(to, from, sizeof(char), 2, volume, to_offset, from_offset, size, size, to_device,
                                from_device);
}

int main(void) {
  int const host = omp_get_initial_device(), device = omp_get_default_device();
  unsigned char here[N][N];
  unsigned char(*there)[N] = omp_target_alloc(N * N, device);
#pragma omp target is_device_ptr(there) nowait
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      there[i][j] = ON_DEVICE() ? 1 + i * N + j : 0;
  memset(here, 0, sizeof here);
#pragma omp taskwait
  CHECK(copy_square(here, there, host, device) == 0);
  omp_target_free(there, device);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      int const inside = i >= OFFSET && i < OFFSET + PART && j >= OFFSET && j < OFFSET + PART;
      CHECK(here[i][j] == (inside ? 1 + (i - OFFSET) * N + j - OFFSET : 0));
    }
  return report();
}
