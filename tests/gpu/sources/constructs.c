// What constructs cost and how fast data moves, for a GPU kit: clang's program, for our runtime and LLVM's.
//
// Usage: constructs [few] [overlap]
//
// With `overlap`, only what is hidden when a transfer and another region's kernel may go on at once.
// Prints a name and a number in each line: nanoseconds of a construct, GB/s of transfers and of loops.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *llvm_omp_target_alloc_host(size_t size, int device);
void llvm_omp_target_free_host(void *pointer, int device);

enum { SMALL = 8, BATCHES = 11 };
static int launches = 2000, rounds = 5;
static size_t large = (size_t)1 << 30;

static double small[8][SMALL];

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

static void launch(void) {
#pragma omp target
  {}
}

static void map(void) {
  double *b = small[0];
#pragma omp target map(tofrom : b[0 : SMALL])
  b[0] += 1;
}

static void maps(void) {
  double *b = small[0], *c = small[1], *d = small[2], *e = small[3], *f = small[4], *g = small[5], *h = small[6],
         *i = small[7];
#pragma omp target map(tofrom : b[0 : SMALL], c[0 : SMALL], d[0 : SMALL], e[0 : SMALL], f[0 : SMALL], g[0 : SMALL],   \
                           h[0 : SMALL], i[0 : SMALL])
  b[0] = c[0] + d[0] + e[0] + f[0] + g[0] + h[0] + i[0];
}

static void show_time(const char *name, void (*construct)(void)) {
  double times[BATCHES];
  for (int batch = -1; batch < BATCHES; ++batch) { // one to warm up
    const double begin = omp_get_wtime();
    for (int i = 0; i < launches; ++i)
      construct();
    if (batch >= 0)
      times[batch] = (omp_get_wtime() - begin) / launches * 1e9;
  }
  printf("%s %.1f\n", name, median(times, BATCHES));
}

static void need(int is_so, const char *what) {
  if (is_so)
    return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

static void show_transfers(const char *kind, char *host, void *device) {
  double to[BATCHES], from[BATCHES];
  const int gpu = omp_get_default_device(), here = omp_get_initial_device();
  memset(host, 5, large);
  for (int round = -1; round < rounds; ++round) {
    const double begin = omp_get_wtime();
    need(omp_target_memcpy(device, host, large, 0, 0, gpu, here) == 0, "a copy to the device");
    const double between = omp_get_wtime();
    need(omp_target_memcpy(host, device, large, 0, 0, here, gpu) == 0, "a copy back");
    if (round < 0)
      continue;
    to[round] = (double)large / (between - begin) / 1e9;
    from[round] = (double)large / (omp_get_wtime() - between) / 1e9;
  }
  need(host[0] == 5 && host[large - 1] == 5, "the bytes are those that were sent");
  printf("to-%s %.3f\nfrom-%s %.3f\n", kind, median(to, rounds), kind, median(from, rounds));
}

static void transfers(void) {
  const int gpu = omp_get_default_device();
  void *const device = omp_target_alloc(large, gpu);
  char *const pageable = malloc(large), *const locked = llvm_omp_target_alloc_host(large, gpu);
  need(device && pageable && locked, "memory for transfers");
  show_transfers("pageable", pageable, device);
  show_transfers("locked", locked, device);
  llvm_omp_target_free_host(locked, gpu);
  free(pageable);
  omp_target_free(device, gpu);
}

static void loops(void) {
  const long n = (long)(large / 4 / sizeof(double));
  double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b), *c = malloc((size_t)n * sizeof *c);
  need(a && b && c, "memory for loops");
  for (long i = 0; i < n; ++i)
    a[i] = 0, b[i] = 1, c[i] = 2;
  double triad[BATCHES], saxpy[BATCHES];
#pragma omp target data map(tofrom : a[0 : n]) map(to : b[0 : n], c[0 : n])
  for (int batch = -1; batch < BATCHES; ++batch) {
    const double begin = omp_get_wtime();
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; ++i)
      a[i] = b[i] + 3 * c[i];
    const double between = omp_get_wtime();
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; ++i)
      a[i] += 3 * c[i];
    if (batch < 0)
      continue;
    triad[batch] = 24e-9 * (double)n / (between - begin);
    saxpy[batch] = 24e-9 * (double)n / (omp_get_wtime() - between);
  }
  if (launches > 1)
    need(a[0] == 13 && a[n - 1] == 13, "the loops' results are right");
  printf("triad %.3f\nsaxpy %.3f\n", median(triad, BATCHES), median(saxpy, BATCHES));
  free(a), free(b), free(c);
}

static void work(double *x, long n, int turns) {
#pragma omp target teams distribute parallel for nowait map(tofrom : x[0 : n])
  for (long i = 0; i < n; ++i) {
    double value = x[i];
    for (int turn = 0; turn < turns; ++turn)
      value = value * 0.999 + 0.5;
    x[i] = value;
  }
}

static void move(char *bytes, size_t size) {
#pragma omp target update to(bytes[0 : size]) nowait
}

static double timed(double *x, long n, int turns, char *bytes, size_t size) {
  const double begin = omp_get_wtime();
  if (turns)
    work(x, n, turns);
  if (size)
    move(bytes, size);
#pragma omp taskwait
  return omp_get_wtime() - begin;
}

// Of the shorter of a transfer and a kernel, the share that was hidden behind the other.
static void overlap(void) {
  enum { N = 1 << 20 };
  const int gpu = omp_get_default_device();
  const size_t size = large / 2;
  double *const x = calloc(N, sizeof *x);
  char *const bytes = llvm_omp_target_alloc_host(size, gpu);
  need(x && bytes, "memory for the overlap");
  memset(bytes, 1, size);
  double shares[BATCHES];
#pragma omp target enter data map(to : x[0 : N], bytes[0 : size])
  int turns = 1000;
  timed(x, N, turns, bytes, size); // to warm up
  const double transfer = timed(x, N, 0, bytes, size);
  while (launches > 1 && timed(x, N, turns, bytes, 0) < transfer && turns < 1 << 24)
    turns *= 2;
  for (int batch = 0; batch < BATCHES; ++batch) {
    const double alone = timed(x, N, turns, bytes, 0), moved = timed(x, N, 0, bytes, size);
    const double both = timed(x, N, turns, bytes, size), shorter = alone < moved ? alone : moved;
    shares[batch] = (alone + moved - both) / shorter;
  }
#pragma omp target exit data map(delete : x[0 : N], bytes[0 : size])
  printf("overlap %.3f\n", median(shares, BATCHES));
  llvm_omp_target_free_host(bytes, gpu);
  free(x);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "few") == 0) { // to see that it goes
    launches = rounds = 1;
    large = (size_t)1 << 20;
  }
  if (argc > 1 && strcmp(argv[argc - 1], "overlap") == 0) {
    overlap();
    return 0;
  }
  show_time("launch", launch);
  show_time("map", map);
  show_time("maps", maps);
  transfers();
  loops();
  fflush(stdout);
  _exit(0); // LLVM's library is gone when images are unregistered
}
