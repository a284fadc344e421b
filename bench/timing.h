/* Times a construct inside one process: shared by the programs of bench/launch.py and others. */
#ifndef OMPTOOL_BENCH_TIMING_H
#define OMPTOOL_BENCH_TIMING_H

#include <stdlib.h>
#include <time.h>

static const double kBatch = 2e6; /* ns */

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Compares two doubles for qsort(). */
static inline int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Numbers of calls and batches. */
struct pacing {
  int warm_up; /* calls before any that is timed */
  int probes;  /* calls that decide how many fill a batch */
  int batches;
};

/* Nanoseconds of one call in the fastest of several batches, which no other process has interrupted. */
static inline double fastest(void (*construct)(void), struct pacing pacing) {
  double best = 0;
  for (int i = 0; i < pacing.warm_up; ++i)
    construct();
  const double start = now();
  for (int i = 0; i < pacing.probes; ++i)
    construct();
  const int rounds = (int)(kBatch / ((now() - start) / pacing.probes)) + 1;
  for (int batch = 0; batch < pacing.batches; ++batch) {
    const double begin = now();
    for (int i = 0; i < rounds; ++i)
      construct();
    const double took = (now() - begin) / rounds;
    best = batch == 0 || took < best ? took : best;
  }
  return best;
}

#endif
