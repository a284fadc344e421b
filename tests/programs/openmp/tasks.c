/* nowait and depend: target tasks on libomp's helper threads. */
#include "check.h"

enum { N = 100 };

#if __clang_major__ >= 16
static void ordered(int* x) {
#pragma omp target enter data map(to : x[0 : N]) nowait depend(out : x[0])
#pragma omp target nowait depend(inout : x[0])
  for (int i = 0; i < N; ++i)
    x[i] += 1;
#pragma omp target teams distribute parallel for nowait depend(inout : x[0])
  for (int i = 0; i < N; ++i)
    x[i] *= 2;
#pragma omp target update from(x[0 : N]) nowait depend(inout : x[0])
#pragma omp task depend(in : x[0]) shared(failures) firstprivate(x)
  CHECK(x[1] == 4);
#pragma omp target exit data map(delete : x[0 : N]) nowait depend(inout : x[0])
#pragma omp taskwait
  CHECK(x[99] == 200);
}
#endif

static void many(void) {
  int y[64] = {0};
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 64; ++i) {
    int* p = &y[i];
#pragma omp target nowait map(tofrom : p[0 : 1]) firstprivate(i)
    p[0] = i + 1;
  }
  int sum = 0;
  for (int i = 0; i < 64; ++i)
    sum += y[i];
  CHECK(sum == 64 * 65 / 2);
}

static void threads(void) {
  int wrong = 0;
#pragma omp parallel for num_threads(4) reduction(+ : wrong)
  for (int i = 0; i < 200; ++i) {
    int z[10] = {0};
#pragma omp target map(tofrom : z)
    z[3] = i;
    wrong += z[3] != i;
  }
  CHECK(wrong == 0);
}

#if __clang_major__ >= 17
static void copies(int* x) {
  int* d = omp_target_alloc(N * sizeof(int), 0);
  omp_depend_t ready;
#pragma omp depobj(ready) depend(inout : d[0])
  x[7] = 70;
  CHECK(omp_target_memcpy_async(d, x, N * sizeof(int), 0, 0, 0, omp_get_initial_device(), 1, &ready) == 0);
#pragma omp target nowait is_device_ptr(d) depend(inout : d[0])
  d[7] += 7;
  CHECK(omp_target_memcpy_async(x, d, N * sizeof(int), 0, 0, omp_get_initial_device(), 0, 1, &ready) == 0);
#pragma omp taskwait
  CHECK(x[7] == 77);
#pragma omp depobj(ready) destroy
  omp_target_free(d, 0);
}
#endif

int main(void) {
  int* x = malloc(N * sizeof *x);
  for (int i = 0; i < N; ++i)
    x[i] = i;
#if __clang_major__ >= 16 /* clang 14 forgets dependences outside of parallel regions */
  ordered(x);
#endif
  many();
  threads();
#if __clang_major__ >= 17
  copies(x);
#endif
  free(x);
  return report();
}
