/* Five loops that the memory's bandwidth bounds, over arrays that are mapped once.
 * Usage: stream [ELEMENTS] [REPETITIONS] */
#include "application.h"

#define SCALE 0.5
enum { COPY, MUL, ADD, TRIAD, DOT, KERNELS };
static const char* const NAMES[KERNELS] = {"copy", "mul", "add", "triad", "dot"};
static const int ARRAYS[KERNELS] = {2, 2, 3, 3, 2}; /* that a kernel reads or writes */

static void copy(const double* restrict a, double* restrict c, int n) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < n; ++i)
    c[i] = a[i];
}
static void mul(double* restrict b, const double* restrict c, int n) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < n; ++i)
    b[i] = SCALE * c[i];
}
static void add(const double* restrict a, const double* restrict b, double* restrict c, int n) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < n; ++i)
    c[i] = a[i] + b[i];
}
static void triad(double* restrict a, const double* restrict b, const double* restrict c, int n) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < n; ++i)
    a[i] = b[i] + SCALE * c[i];
}
static double dot(const double* restrict a, const double* restrict b, int n) {
  double sum = 0;
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum)
  for (int i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

int main(int argc, char** argv) {
  int const n = argument(argc, argv, 1, 1 << 22), repetitions = argument(argc, argv, 2, 20);
  double *const a = doubles(n), *const b = doubles(n), *const c = doubles(n);
  double best[KERNELS] = {0}, sum = 0;
  double host_a = 1, host_b = 2, host_c = 0;
  must_run_on_device();
  for (int i = 0; i < n; ++i) {
    a[i] = host_a;
    b[i] = host_b;
  }
#pragma omp target enter data map(to : a[0 : n], b[0 : n], c[0 : n])
  for (int round = 0; round < repetitions; ++round) {
    double since = seconds_now();
    copy(a, c, n);
    since = note(&best[COPY], since);
    mul(b, c, n);
    since = note(&best[MUL], since);
    add(a, b, c, n);
    since = note(&best[ADD], since);
    triad(a, b, c, n);
    since = note(&best[TRIAD], since);
    sum = dot(a, b, n);
    note(&best[DOT], since);
  }
#pragma omp target exit data map(from : a[0 : n], b[0 : n], c[0 : n])
  for (int round = 0; round < repetitions; ++round) {
    host_c = host_a;
    host_b = SCALE * host_c;
    host_c = host_a + host_b;
    host_a = host_b + SCALE * host_c;
  }
  for (int i = 0; i < n; ++i) {
    must_agree("a", a[i], host_a, 1);
    must_agree("b", b[i], host_b, 1);
    must_agree("c", c[i], host_c, 1);
  }
  must_agree("dot", sum, host_a * host_b * n, n);
  printf("a %.10g\nb %.10g\nc %.10g\nsum %.8g\n", a[0], b[n / 2], c[n - 1], sum);
  for (int kernel = 0; kernel < KERNELS; ++kernel)
    printf("%s_bytes/s %.0f\n", NAMES[kernel], 1.0 * ARRAYS[kernel] * sizeof *a * n / best[kernel]);
  free(a);
  free(b);
  free(c);
  return 0;
}
