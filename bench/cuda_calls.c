// Constructs of bench/cuda_calls.py, each once to warm up and once counted: the driver's log gets a line before it, and
// one behind it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 8, MANY = 8, LARGE = 1 << 17 };
static double a[MANY][SMALL], x[LARGE], y[LARGE];

static void mark(const char *name) {
  const int log = open(getenv("FAKE_CUDA_LOG"), O_WRONLY | O_APPEND);
  char line[80];
  const int length = snprintf(line, sizeof line, "# %s\n", name);
  if (log < 0 || write(log, line, (size_t)length) != length)
    _exit(1);
  close(log);
}

#define COUNTED(name, construct)                                                                                       \
  for (int round = 0; round < 2; ++round) {                                                                            \
    if (round == 1)                                                                                                    \
      mark(name);                                                                                                      \
    construct;                                                                                                         \
    if (round == 1)                                                                                                    \
      mark("");                                                                                                        \
  }

static void nothing(void) {
#pragma omp target
  {}
}

static void one_small(double *b) {
#pragma omp target map(tofrom : b[0 : SMALL])
  b[0] += 1;
}

static void eight_small(void) {
  double *b = a[0], *c = a[1], *d = a[2], *e = a[3], *f = a[4], *g = a[5], *h = a[6], *i = a[7];
#pragma omp target map(tofrom : b[0 : SMALL], c[0 : SMALL], d[0 : SMALL], e[0 : SMALL], f[0 : SMALL], g[0 : SMALL],   \
                           h[0 : SMALL], i[0 : SMALL])
  b[0] = c[0] + d[0] + e[0] + f[0] + g[0] + h[0] + i[0];
}

static void loop(void) {
#pragma omp target teams distribute parallel for map(to : x) map(tofrom : y)
  for (int i = 0; i < LARGE; ++i)
    y[i] += x[i];
}

static void present(void) {
#pragma omp target teams distribute parallel for map(x, y)
  for (int i = 0; i < LARGE; ++i)
    y[i] += x[i];
}

static void update(void) {
#pragma omp target update to(x) from(y)
}

static double sum(void) {
  double all = 0;
#pragma omp target teams distribute parallel for reduction(+ : all) map(to : x)
  for (int i = 0; i < LARGE; ++i)
    all += x[i];
  return all;
}

int main(void) {
  COUNTED("a region without data", nothing())
  COUNTED("a region with a map of 64 bytes", one_small(a[0]))
  COUNTED("a region with 8 of them", eight_small())
  COUNTED("a loop that maps 2 arrays of 1 MiB", loop())
  COUNTED("a reduction over 1 MiB", sum())
#pragma omp target enter data map(to : x, y)
  COUNTED("a loop over what is present", present())
  COUNTED("an update each way", update())
#pragma omp target exit data map(delete : x, y)
  fflush(stdout);
  _exit(0); // LLVM's library is gone when images are unregistered
}
