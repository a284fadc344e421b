// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions map two arrays in turn, so that a launch gets addresses that an earlier launch had for another array. Kernels
// with pointers as parameters then used released memory of Intel's driver.
#include "../openmp/check.h"

enum { N = 1000, STEPS = 40 };

static void on_device(int n, float* next, float* now) {
#pragma omp target teams distribute parallel for map(tofrom : next[0 : n]) map(tofrom : now[0 : n])
  for (int i = 1; i < n - 1; i++)
    next[i] = now[i - 1] + now[i + 1] - next[i];
}

static void on_host(int n, float* next, const float* now) {
  for (int i = 1; i < n - 1; i++)
    next[i] = now[i - 1] + now[i + 1] - next[i];
}

int main(void) {
  static float a[N], b[N], c[N], d[N];
  a[N / 2] = c[N / 2] = 1;
  for (int step = 0; step < STEPS && !failures; ++step) {
    on_device(N, step % 2 ? a : b, step % 2 ? b : a);
    on_host(N, step % 2 ? c : d, step % 2 ? d : c);
    CHECK(memcmp(a, c, sizeof a) == 0 && memcmp(b, d, sizeof b) == 0);
  }
  return report();
}
