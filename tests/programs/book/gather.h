/* What figures 6.35, 6.37 and 6.38 do: pick values through a scratch array of random indices. */
#ifndef GATHER_H
#define GATHER_H
#include "book.h"

enum { N = 1024, UNTOUCHED = -1 };
static float picked[N], values[N];
static int indices[N];

static void prepare(void) {
  for (int i = 0; i < N; ++i) {
    picked[i] = UNTOUCHED;
    values[i] = 3 * i;
    indices[i] = UNTOUCHED;
  }
}

/* The `i`-th number of a fixed sequence below N: the device's and the host's are the same. */
static int chosen(int i) {
  return (int)((i * 1103515245u + 12345u) >> 16) % N;
}
#pragma omp declare target(chosen)
#endif
