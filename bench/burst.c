// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints what a region that maps 64 bytes takes, in nanoseconds: in the fastest of 200 bursts of 600, with a pause
// before each. In so short a time few other processes come between, and what a trace is to write fits into its buffer.
#include "timing.h"

#include <stdio.h>
#include <unistd.h>

enum { kBursts = 200, kRegions = 600, kFirst = 20, kPause = 3000 };

static void run(int regions) {
  double x[8] = {0};
  for (int i = 0; i < regions; i++) {
#pragma omp target map(tofrom : x)
    x[0] += 1;
  }
}

int main(void) {
  double least = 1e12;
  run(kRegions);
  for (int i = 0; i < kBursts; i++) {
    usleep(kPause);
    run(kFirst);
    const double begin = now();
    run(kRegions);
    const double taken = (now() - begin) / kRegions;
    least = taken < least ? taken : least;
  }
  printf("region-ns %.1f\n", least);
  return 0;
}
