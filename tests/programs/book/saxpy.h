/* The loop that several figures share among teams and threads: y += a * x. */
#ifndef SAXPY_H
#define SAXPY_H
#include "book.h"

enum { LENGTH = 1000 };

/* Runs `saxpy` and compares with the host's sum; every product and sum here is exact. */
static int saxpy_holds(int (*saxpy)(float* restrict, const float* restrict, float, int)) {
  float y[LENGTH], x[LENGTH];
  for (int i = 0; i < LENGTH; ++i) {
    y[i] = 2 * i;
    x[i] = LENGTH - i;
  }
  CHECK(saxpy(y, x, 0.5f, LENGTH));
  for (int i = 0; i < LENGTH; ++i)
    CHECK(y[i] == 2 * i + 0.5f * (LENGTH - i) && x[i] == LENGTH - i);
  return report();
}
#endif
