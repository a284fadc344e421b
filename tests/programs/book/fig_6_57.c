/* Figure 6.57: tasks of the host and of the device, in the order that their dependences ask for. */
#include "book.h"

static void fill(int* values, int n) {
  for (int i = 0; i < n; ++i)
    values[i] = i;
}
static void read_only(const int* values, int n, long* sum) {
  for (int i = 0; i < n; ++i)
    *sum += values[i];
}
static void combine(int* to, const int* from, int n) {
  for (int i = 0; i < n; ++i)
    to[i] = ON_DEVICE() ? 10 * to[i] + from[i] : 0;
}
#pragma omp declare target(combine)

static long pipeline(int* a, int* b, int n) {
  long sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target enter data map(to : a[ : n]) nowait depend(out : a[ : n])
#pragma omp task depend(out : b[ : n])
    fill(b, n);
#pragma omp target map(to : b[ : n]) nowait depend(in : b[ : n]) depend(inout : a[ : n])
    combine(a, b, n);
#pragma omp task depend(in : b[ : n]) shared(sum)
    read_only(b, n, &sum);
#pragma omp target exit data map(from : a[ : n]) depend(in : a[ : n])
    CHECK(a[n - 1] == 70 + n - 1); /* the exit was waited for */
  }
  return sum;
}

int main(void) {
  enum { N = 1000 };
  int a[N], b[N];
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < N; ++i) {
      a[i] = 7;
      b[i] = -1;
    }
    CHECK(pipeline(a, b, N) == N * (N - 1) / 2);
    for (int i = 0; i < N; ++i)
      CHECK(a[i] == 70 + i);
  }
  return report();
}
