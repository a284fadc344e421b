/* Figure 6.45: a global that functions of the device may use once somebody has mapped it. */
#include "book.h"

enum { N = 1024 };
float vector[N];
#pragma omp declare target link(vector)

#pragma omp declare target
float scaled(float value, float by) {
  return value * by;
}
int scale_all(float by) {
  for (int i = 0; i < N; ++i)
    vector[i] = scaled(vector[i], by);
  return ON_DEVICE();
}
#pragma omp end declare target

static int scale_vector(float by) {
  int on_device = 0;
#pragma omp target map(vector) firstprivate(by) map(from : on_device)
  on_device = scale_all(by);
  return on_device;
}

int main(void) {
  for (int i = 0; i < N; ++i)
    vector[i] = i;
  CHECK(scale_vector(4));
  for (int i = 0; i < N; ++i)
    CHECK(vector[i] == 4 * i);
  CHECK(!omp_target_is_present(vector, omp_get_default_device()));
  return report();
}
