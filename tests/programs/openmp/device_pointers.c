/* use_device_ptr, use_device_addr, is_device_ptr, has_device_addr. */
#include "check.h"

enum { N = 16 };

static void pointers(int* x) {
  int* const host = x;
#pragma omp target data map(tofrom : x[0 : N]) use_device_ptr(x)
  {
    CHECK(x != host);
#pragma omp target is_device_ptr(x)
    x[1] = 11;
  }
  CHECK(x == host && x[1] == 11);
#pragma omp target enter data map(to : x[0 : N])
#pragma omp target data use_device_ptr(x)
  CHECK(x != host);
#pragma omp target exit data map(delete : x[0 : N])
#pragma omp target data use_device_ptr(x)
  CHECK(x == host);
}

static void addresses(void) {
  int y[N] = {0};
  void* seen = NULL;
#pragma omp target data map(tofrom : y) use_device_addr(y)
  {
    seen = &y[0];
#if __clang_major__ >= 17 /* clang 16 maps what has_device_addr names */
#pragma omp target has_device_addr(y)
    y[2] = 22;
#endif
  }
  CHECK(seen != (void*)y);
#if __clang_major__ >= 17
  CHECK(y[2] == 22);
#endif
}

static void allocated(void) {
  int* d = omp_target_alloc(N * sizeof(int), 0);
  int h[N] = {0};
  CHECK(d != NULL);
#pragma omp target is_device_ptr(d)
  for (int i = 0; i < N; ++i)
    d[i] = i * i;
  CHECK(omp_target_memcpy(h, d, sizeof h, 0, 0, omp_get_initial_device(), 0) == 0);
  CHECK(h[5] == 25);
  CHECK(omp_target_associate_ptr(h, d, sizeof h, 0, 0) == 0);
  h[5] = 0;
#pragma omp target map(from : h)
  h[6] = 66;
#pragma omp target update from(h)
  CHECK(h[5] == 25 && h[6] == 66);
  CHECK(omp_target_disassociate_ptr(h, 0) == 0);
  omp_target_free(d, 0);
}

/* What leads to nothing that is mapped stays as it is: sections of no bytes, and pointers in no clause. */
static void unmapped(void) {
  int* p = calloc(N, sizeof *p);
  int *by_section = NULL, *behind = NULL, *by_default = NULL;
#pragma omp target map(p[0 : 0]) map(from : by_section)
  by_section = p;
#pragma omp target map(p[3 : 0]) map(from : behind)
  behind = p;
#pragma omp target map(from : by_default)
  by_default = p;
  CHECK(by_section == p && behind == p && by_default == p);
  free(p);
}

int main(void) {
  int* x = calloc(N, sizeof *x);
  pointers(x);
  addresses();
  allocated();
  free(x);
  unmapped();
  return report();
}
