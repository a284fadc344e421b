/* Values of every width, private and firstprivate data, reductions, teams, nested parallelism. */
#include "check.h"

static void by_value(void) {
  signed char c = -3;
  short s = -300;
  int i = 70000;
  long l = 1L << 40;
  float f = 1.5f;
  double d = 2.25;
  _Bool b = 1;
  long r[8] = {0};
  int host = 1;
#pragma omp target map(from : r, host)
  {
    host = omp_is_initial_device();
    r[0] = c;
    r[1] = s;
    r[2] = i;
    r[3] = l;
    r[4] = (long)(f * 2);
    r[5] = (long)(d * 4);
    r[6] = b;
  }
  CHECK(!host);
  CHECK(r[0] == -3 && r[1] == -300 && r[2] == 70000 && r[3] == 1L << 40);
  CHECK(r[4] == 3 && r[5] == 9 && r[6] == 1);
}

static void many_arguments(void) {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, sum = 0;
#pragma omp target map(tofrom : sum)
  sum += a + b + c + d + e + f + g + h + i + j;
  CHECK(sum == 55);
}

static void private_data(void) {
  int first[5] = {1, 2, 3, 4, 5}, own = 77, out = 0;
  struct {
    long a, b;
  } pair = {3, 4};
#pragma omp target firstprivate(first, pair) private(own) map(tofrom : out)
  {
    own = 5;
    first[0] = 100;
    pair.a = 30;
    out = first[0] + first[4] + own + (int)(pair.a + pair.b);
  }
  CHECK(out == 100 + 5 + 5 + 34);
  CHECK(first[0] == 1 && own == 77 && pair.a == 3);
}

static void reductions(void) {
  long sum = 10;
  int most = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) reduction(max : most)
  for (int i = 1; i <= 1000; ++i) {
    sum += i;
    most = i > most ? i : most;
  }
  CHECK(sum == 10 + 500500 && most == 1000);
}

static void loops(void) {
  enum { N = 1000 };
  int x[N], y[N];
  for (int i = 0; i < N; ++i)
    x[i] = i, y[i] = 0;
#pragma omp target parallel for map(to : x) map(from : y)
  for (int i = 0; i < N; ++i)
    y[i] = 2 * x[i];
#pragma omp target teams distribute map(tofrom : y)
  for (int i = 0; i < N; ++i)
    y[i] += 1;
#pragma omp target simd map(tofrom : y)
  for (int i = 0; i < N; ++i)
    y[i] += 1;
#if __clang_major__ == 16 /* its loops skip iterations, on its own runtime too */
#pragma omp target teams distribute parallel for map(tofrom : y)
#else
#pragma omp target teams loop map(tofrom : y)
#endif
  for (int i = 0; i < N; ++i)
    y[i] += 1;
  int wrong = 0;
  for (int i = 0; i < N; ++i)
    wrong += y[i] != 2 * i + 3;
  CHECK(wrong == 0);
}

static void conditions(void) {
  int host = 0, always = 0;
#pragma omp target if (always) map(from : host)
  host = omp_is_initial_device();
  CHECK(host == 1);
#pragma omp target device(omp_get_initial_device()) map(from : host)
  host = omp_is_initial_device();
  CHECK(host == 1);
#pragma omp target device(0) map(from : host)
  host = omp_is_initial_device();
  CHECK(host == 0);
}

int main(void) {
  by_value();
  many_arguments();
  private_data();
  reductions();
  loops();
  conditions();
  return report();
}
