/* Figure 6.63: a small buffer of the device, associated with one part of a large one after the other. */
#include "book.h"

static int stream(float* restrict values, int n, int chunk, int device) {
  int const size = sizeof(float) * chunk;
  float* const buffer = omp_target_alloc(size, device);
  int chunks_on_device = 0;
  for (int at = 0; at < n; at += chunk) {
    CHECK(omp_target_associate_ptr(&values[at], buffer, size, 0, device) == 0);
#pragma omp target map(always, tofrom : values[at : chunk]) map(tofrom : chunks_on_device) device(device)
    {
      chunks_on_device += ON_DEVICE();
      for (int i = at; i < at + chunk; ++i)
        values[i] = 1 / (1 + values[i]);
    }
    CHECK(omp_target_is_present(&values[at], device));
    CHECK(omp_target_disassociate_ptr(&values[at], device) == 0);
    CHECK(!omp_target_is_present(&values[at], device));
  }
  omp_target_free(buffer, device);
  return chunks_on_device;
}

int main(void) {
  enum { N = 4096, CHUNK = 256 };
  static float values[N];
  for (int i = 0; i < N; ++i)
    values[i] = i;
  CHECK(stream(values, N, CHUNK, omp_get_default_device()) == N / CHUNK);
  for (int i = 0; i < N; ++i)
    CHECK(values[i] == 1 / (1 + (float)i));
  return report();
}
