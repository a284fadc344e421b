/* Data environments: counts, always, present, delete, sections without bytes. */
#include "check.h"

enum { N = 20 };

static int present(void* p) { return omp_target_is_present(p, 0); }

static void counts(int* x) {
#pragma omp target enter data map(to : x[0 : N])
#pragma omp target data map(tofrom : x[0 : N])
  {
#pragma omp target
    x[3] = 33;
    CHECK(x[3] == 3);
  }
  CHECK(x[3] == 3);
  CHECK(present(x));
#pragma omp target exit data map(from : x[0 : N])
  CHECK(x[3] == 33 && !present(x));
}

static void sections(int* x) {
  int y[N];
  for (int i = 0; i < N; ++i)
    x[i] = y[i] = i;
#pragma omp target enter data map(to : x[5 : 10])
#pragma omp target map(tofrom : y[2 : 4])
  {
    y[2] += 100;
    x[5] += 100;
    x[14] += 100;
  }
  CHECK(y[2] == 102 && x[5] == 5);
#pragma omp target update from(x[5 : 1])
  CHECK(x[5] == 105 && x[14] == 14);
  x[6] = -6;
#pragma omp target update to(x[6 : 1])
#pragma omp target exit data map(from : x[5 : 10])
  CHECK(x[6] == -6 && x[14] == 114 && x[4] == 4);
}

static void always(int* x) {
  x[0] = 1;
#pragma omp target data map(to : x[0 : N])
  {
    x[0] = 2;
    int seen = 0;
#pragma omp target map(from : seen)
    seen = x[0];
    CHECK(seen == 1);
#pragma omp target map(always, tofrom : x[0 : N]) map(from : seen)
    {
      seen = x[0];
      x[0] = 9;
    }
    CHECK(seen == 2 && x[0] == 9);
  }
}

static void deletion(int* x) {
#pragma omp target enter data map(alloc : x[0 : N])
#pragma omp target enter data map(to : x[0 : N])
#pragma omp target exit data map(release : x[0 : N])
  CHECK(present(x));
#pragma omp target exit data map(delete : x[0 : N])
  CHECK(!present(x));
#pragma omp target exit data map(from : x[0 : N])
#pragma omp target update from(x[0 : N])
}

static void modifiers(int* x) {
  x[1] = 1;
#pragma omp target enter data map(close, to : x[0 : N])
#pragma omp target map(present, tofrom : x[0 : N])
  x[1] = 11;
#pragma omp target update from(present : x[0 : N])
  CHECK(x[1] == 11);
#pragma omp target exit data map(delete : x[0 : N])
}

static void empty(int* x) {
  void* seen = NULL;
  int* nothing = NULL;
#pragma omp target map(from : seen)
  seen = nothing;
  CHECK(seen == NULL);
  uintptr_t address = 0;
#pragma omp target enter data map(to : x[0 : N])
#pragma omp target map(from : address)
  address = (uintptr_t)x;
  CHECK(address != (uintptr_t)x);
#if __clang_major__ >= 16
  CHECK(address == (uintptr_t)omp_get_mapped_ptr(x, 0));
#endif
#pragma omp target exit data map(release : x[0 : 0])
  CHECK(!present(x));
}

static void implicit(void) {
  int a[N] = {0};
  struct {
    int i;
    double d;
  } s = {1, 2.0};
#pragma omp target
  {
    a[7] = 7;
    s.d += s.i;
  }
  CHECK(a[7] == 7 && s.d == 3.0);
#pragma omp target defaultmap(tofrom : scalar)
  a[8] = 8;
  int n = 0;
#pragma omp target map(n)
  n = 4;
  CHECK(a[8] == 8 && n == 4);
}

static void conditional(int* x) {
  int yes = 1, no = 0;
  x[0] = 5;
#pragma omp target enter data map(to : x[0 : N]) if (no)
  CHECK(!present(x));
#pragma omp target enter data map(to : x[0 : N]) if (yes)
  CHECK(present(x));
#pragma omp target update from(x[0 : N]) if (no)
#pragma omp target exit data map(delete : x[0 : N]) if (yes)
  CHECK(!present(x));
}

static void dimensions(void) {
  int a[6][8];
  for (int i = 0; i < 48; ++i)
    a[i / 8][i % 8] = i;
#pragma omp target map(tofrom : a[2 : 2][0 : 8])
  for (int i = 2; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      a[i][j] += 1000;
  CHECK(a[2][0] == 1016 && a[3][7] == 1031 && a[1][7] == 15 && a[4][0] == 32);
}

int main(void) {
  int* x = malloc(N * sizeof *x);
  for (int i = 0; i < N; ++i)
    x[i] = i;
  counts(x);
  sections(x);
  always(x);
  deletion(x);
  modifiers(x);
  empty(x);
  implicit();
  conditional(x);
  dimensions();
  free(x);
  return report();
}
