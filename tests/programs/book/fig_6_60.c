/* Figure 6.60: a region fills memory of a device that the host allocated by number. */
#include "book.h"

static void* filled(int n, int device) {
  char* fresh = omp_target_alloc(n, device);
#pragma omp target is_device_ptr(fresh) device(device)
  for (int i = 0; i < n; ++i)
    fresh[i] = ON_DEVICE() ? i : 0;
  return fresh;
}

int main(void) {
  char copy[100];
  for (int device = 0; device < omp_get_num_devices(); ++device) {
    void* memory = filled(100, device);
    memset(copy, -1, sizeof copy);
    CHECK(omp_target_memcpy(copy, memory, 100, 0, 0, omp_get_initial_device(), device) == 0);
    for (int i = 0; i < 100; ++i)
      CHECK(copy[i] == i);
    omp_target_free(memory, device);
  }
  return report();
}
