/* User-defined mappers: one struct, an array of them, nested ones, enter, exit and update. */
#include "check.h"

typedef struct {
  int n;
  int* data;
} vector;
#pragma omp declare mapper(vector v) map(v, v.data[0 : v.n])

typedef struct {
  int id;
  vector inner;
} outer;
#pragma omp declare mapper(outer o) map(o.id, o.inner)

static vector make(int n, int start) {
  vector v = {n, malloc((size_t)n * sizeof(int))};
  for (int i = 0; i < n; ++i)
    v.data[i] = start + i;
  return v;
}

static void one(void) {
  vector v = make(8, 0);
#pragma omp target map(tofrom : v)
  for (int i = 0; i < v.n; ++i)
    v.data[i] *= 2;
  CHECK(v.data[3] == 6 && v.n == 8);
  CHECK(!omp_target_is_present(v.data, 0) && !omp_target_is_present(&v, 0));
}

static void array(void) {
  vector v[3] = {make(4, 0), make(5, 10), make(6, 20)};
#pragma omp target map(tofrom : v[0 : 3])
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < v[k].n; ++i)
      v[k].data[i] += 100;
  CHECK(v[0].data[0] == 100 && v[1].data[4] == 114 && v[2].data[5] == 125);
  CHECK(!omp_target_is_present(v[1].data, 0) && !omp_target_is_present(v, 0));
}

static void unstructured(void) {
  vector v = make(8, 0);
  int* const host = v.data;
#pragma omp target enter data map(to : v)
  CHECK(omp_target_is_present(host, 0));
#pragma omp target
  v.data[1] = 11;
  CHECK(v.data[1] == 1);
#pragma omp target update from(v)
  CHECK(v.data == host && v.data[1] == 11);
#pragma omp target exit data map(from : v)
  CHECK(!omp_target_is_present(host, 0));
}

static void nested(void) {
  outer o = {1, make(4, 5)};
#pragma omp target map(tofrom : o)
  o.inner.data[0] += o.id;
  CHECK(o.inner.data[0] == 6);
}

/* A struct is counted like anything else: two enters, two exits, whatever holds its parts. */
static void counted(void) {
  vector v = make(4, 0);
#pragma omp target enter data map(to : v)
#pragma omp target enter data map(to : v)
#pragma omp target map(tofrom : v)
  v.data[0]++;
#pragma omp target exit data map(from : v)
  CHECK(omp_target_is_present(&v, 0) && omp_target_is_present(v.data, 0));
#pragma omp target exit data map(from : v)
  CHECK(!omp_target_is_present(&v, 0) && !omp_target_is_present(v.data, 0));
  CHECK(v.data[0] == 1);
}

/* Modifiers of the clause hold for what the mapper maps. */
static void modified(void) {
  vector v = make(4, 0);
#pragma omp target enter data map(to : v)
#pragma omp target enter data map(to : v)
  v.data[2] = 7;
#pragma omp target map(always, to : v)
  v.data[3] = v.data[2];
#pragma omp target exit data map(always, from : v)
  CHECK(v.data[3] == 7 && omp_target_is_present(v.data, 0));
#pragma omp target enter data map(to : v)
#pragma omp target exit data map(delete : v)
  CHECK(!omp_target_is_present(&v, 0) && !omp_target_is_present(v.data, 0));
}

int main(void) {
  one();
  counted();
  modified();
  array();
  unstructured();
#ifndef ONLY_WHAT_LLVM_CAN
  nested();
#endif
  return report();
}
