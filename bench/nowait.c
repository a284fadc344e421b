/* Times constructs with nowait inside one process; bench/launch.py --part nowait compiles, runs and compares.
 *
 * Usage: nowait [ROW...]
 *
 * Prints lines of "name figure": the nanoseconds of what the row's function does, in the fastest of several batches,
 * which no other process has interrupted. */
#include "timing.h"

#include <stdio.h>
#include <string.h>

enum { kMany = 64, kLarge = 262144, kMiddle = 20000, kSmall = 256, kOverlapped = 8 };
static double one[8], many[kMany], values[kLarge], more[kMiddle];

/* ---- short regions ---- */

static void add_in_order(int count) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < count; ++i) {
#pragma omp target nowait depend(inout : one) map(tofrom : one)
    one[0] += 1;
  }
}

static void chain_of_10(void) {
  add_in_order(10);
}

static void chain_of_100(void) {
  add_in_order(100);
}

static void at_once(void) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < kMany; ++i) {
#pragma omp target nowait map(tofrom : many[i : 1])
    many[i] += 1;
  }
}

static void update(void) {
#pragma omp target data map(tofrom : one)
  {
    for (int i = 0; i < 10; ++i) {
#pragma omp target update to(one) nowait
    }
#pragma omp taskwait
  }
}

static void taskgroup(void) {
#pragma omp taskgroup
  for (int i = 0; i < 16; ++i) {
#pragma omp target nowait map(tofrom : many[i : 1])
    many[i] += 1;
  }
}

static void series(void) {
  for (int i = 0; i < 10; ++i) {
#pragma omp target nowait map(tofrom : one)
    one[0] += 1;
#pragma omp taskwait
  }
}

/* ---- kernels of some length, on one processor each ---- */

static void overlap(long steps) {
  for (int i = 0; i < kOverlapped; ++i) {
#pragma omp target nowait map(tofrom : many[i : 1]) firstprivate(steps)
    for (long step = 0; step < steps; ++step)
      many[i] = many[i] * 0.999 + 1;
  }
#pragma omp taskwait
}

/* A step waits for the one before it: some 8 cycles. */
static void overlapped_10us(void) {
  overlap(4000);
}

static void overlapped_100us(void) {
  overlap(40000);
}

/* ---- loops that may use all processors ---- */

static void loop(int count, double* data, int steps) {
#pragma omp target teams distribute parallel for nowait map(tofrom : data[0 : count]) firstprivate(steps)
  for (int i = 0; i < count; ++i)
    for (int step = 0; step < steps; ++step)
      data[i] = data[i] * 0.999 + 1;
}

static void loop_of_256(void) {
  loop(kSmall, values, 1);
#pragma omp taskwait
}

static void loop_of_262144(void) {
  loop(kLarge, values, 20);
#pragma omp taskwait
}

static void two_loops_of_20000(void) {
#pragma omp target data map(tofrom : values, more)
  {
    loop(kMiddle, values, 1);
    loop(kMiddle, more, 1);
#pragma omp taskwait
  }
}

static void loop_of_100us(void) {
  loop(kSmall, values, 160);
#pragma omp taskwait
}

static void loop_of_1ms(void) {
  loop(kSmall, values, 1600);
#pragma omp taskwait
}

/* Every processor has a thread of the program's own that waits. */
static void within_parallel(void) {
#pragma omp parallel
#pragma omp single
  loop(kSmall, values, 1600);
}

static void measure(const char* name, void (*construct)(void)) {
  const struct pacing pacing = {.warm_up = 50, .probes = 20, .batches = 25};
  printf("%s %.2f\n", name, fastest(construct, pacing));
}

static const struct {
  const char* name;
  void (*construct)(void);
} rows[] = {
    {"chain-of-10", chain_of_10},
    {"chain-of-100", chain_of_100},
    {"64-at-once", at_once},
    {"10-updates", update},
    {"taskgroup-of-16", taskgroup},
    {"10-in-series", series},
    {"overlapped-10us", overlapped_10us},
    {"overlapped-100us", overlapped_100us},
    {"loop-of-256", loop_of_256},
    {"loop-of-262144", loop_of_262144},
    {"two-loops-of-20000", two_loops_of_20000},
    {"loop-of-100us", loop_of_100us},
    {"loop-of-1ms", loop_of_1ms},
    {"loop-of-1ms-within-parallel", within_parallel},
};

int main(int argc, char** argv) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    int wanted = argc < 2;
    for (int k = 1; k < argc; ++k)
      wanted |= !strcmp(argv[k], rows[i].name);
    if (wanted)
      measure(rows[i].name, rows[i].construct);
    fflush(stdout);
  }
  return 0;
}
