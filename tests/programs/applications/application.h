/* What the applications share. Each computes on the device, compares with the host, and prints lines "name figure";
 * a name that ends in /s is the speed of its fastest step, the others are results and the same on every runtime.
 * With -DRESULTS_DO_NOT_COUNT they go on where the device is wrong, as one is that runs nothing. */
#ifndef APPLICATION_H
#define APPLICATION_H
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The program's argument `at`, a positive number, or `otherwise`. */
static inline int argument(int argc, char** argv, int at, int otherwise) {
  int const given = at < argc ? atoi(argv[at]) : otherwise;
  if (given <= 0) {
    fprintf(stderr, "%s: not a positive number: %s\n", argv[0], argv[at]);
    exit(2);
  }
  return given;
}

static inline double* doubles(size_t count) {
  double* const memory = calloc(count, sizeof *memory);
  if (!memory) {
    fprintf(stderr, "no memory for %zu numbers\n", count);
    exit(2);
  }
  return memory;
}

static inline void device_is_wrong(void) {
#ifndef RESULTS_DO_NOT_COUNT
  exit(1);
#endif
}

/* Ends the program where the device's figure is not the host's but for the order of `terms` additions. */
static inline void must_agree(const char* what, double device, double host, int terms) {
  if (fabs(device - host) > 1e-15 * terms * fabs(host)) {
    fprintf(stderr, "%s: %.17g on the device, %.17g on the host\n", what, device, host);
    device_is_wrong();
  }
}

/* omp_get_wtime counts since 1970, where a double cannot tell the parts of a microsecond. */
static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Notes in `best` the seconds since `start`, if they are the fewest so far or the first. Returns the time now. */
static inline double note(double* best, double start) {
  double const seconds = seconds_now() - start;
  if (*best == 0 || seconds < *best)
    *best = seconds;
  return seconds_now();
}

static inline void must_run_on_device(void) {
  int host = 1;
#pragma omp target map(from : host)
  host = omp_is_initial_device();
  if (host) {
    fprintf(stderr, "this ran on the host\n");
    device_is_wrong();
  }
}
#endif
