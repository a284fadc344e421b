// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The constructor of a device variable runs on the device before the first region. Its value is known there alone.
#include "../openmp/check.h"

#pragma omp begin declare target
struct Held {
  int value;
  Held() : value(omp_is_initial_device() ? -1 : omp_get_num_teams() + 6) {}
};
Held held;
#pragma omp end declare target

int main() {
  int seen = 0;
#pragma omp target map(from : seen)
  seen = held.value;
  CHECK(seen == 7);
  return report();
}
