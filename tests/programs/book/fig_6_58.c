/* Figure 6.58: every device gets the host's array and then its share of the work, all at once. */
#include "book.h"

enum { N = 1024, MOST = 16 };
int table[N];
#pragma omp declare target to(table)

static int share(const int* values, int index, int count) {
  int sum = 0;
  for (int i = index; i < N; i += count)
    sum += values[i];
  return sum;
}
#pragma omp declare target(share)

int main(void) {
  int sums[MOST] = {0}, elsewhere[MOST] = {0};
  int const chosen = omp_get_default_device(), count = omp_get_num_devices();
  CHECK(count >= 1 && count <= MOST);
  for (int i = 0; i < N; ++i)
    table[i] = 3 * i;
  for (int device = 0; device < count; ++device) {
    omp_set_default_device(device);
    CHECK(omp_get_default_device() == device);
#pragma omp target update to(table) nowait
  }
  omp_set_default_device(chosen);
#pragma omp taskwait
  for (int device = 0; device < count; ++device) {
#pragma omp target device(device) nowait map(from : sums[device : 1], elsewhere[device : 1])
    {
      sums[device] = share(table, device, count);
      elsewhere[device] = ON_DEVICE();
    }
  }
#pragma omp taskwait
  int total = 0;
  for (int device = 0; device < count; ++device) {
    CHECK(elsewhere[device] && sums[device] == share(table, device, count));
    total += sums[device];
  }
  CHECK(total == 3 * N * (N - 1) / 2);
  return report();
}
