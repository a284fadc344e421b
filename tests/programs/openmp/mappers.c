/* User-defined mappers: of a struct, arrays, sections of pointers, nested ones; enter, exit and update. */
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

/* Clang 21 and older give the place of this pointer where they give the value of a local one. */
static vector* outside;

/* Returns four vectors, of 2 to 5 elements that begin with `start`. */
static vector* make_vectors(int start) {
  vector* const made = malloc(4 * sizeof *made);
  for (int k = 0; k < 4; ++k)
    made[k] = make(2 + k, start);
  return made;
}

/* Checks that the first `count` vectors begin with `value`, and that the device has none of them. */
static void check_vectors(const vector* vectors, int count, int value) {
  for (int k = 0; k < count; ++k) {
    CHECK(vectors[k].n == 2 + k && vectors[k].data[0] == value && vectors[k].data[1 + k] == value + 1 + k);
    CHECK(!omp_target_is_present(&vectors[k], 0) && !omp_target_is_present(vectors[k].data, 0));
  }
}

static void in_region_alone(int n) {
  vector* const inside = make_vectors(5);
  outside = make_vectors(5);
#pragma omp target map(tofrom : inside[0 : n])
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < inside[k].n; ++i)
      inside[k].data[i] += 10;
#pragma omp target map(tofrom : outside[0 : n])
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < outside[k].n; ++i)
      outside[k].data[i] += 10;
  check_vectors(inside, n, 15);
  check_vectors(outside, n, 15);
  /* Sections that begin behind the first vector. */
#pragma omp target map(tofrom : inside[1 : n])
  inside[n].data[0] = inside[n].n;
#pragma omp target map(tofrom : outside[1 : n])
  outside[n].data[0] = outside[n].n;
  CHECK(inside[n].data[0] == 2 + n && outside[n].data[0] == 2 + n);
  CHECK(!omp_target_is_present(&outside, 0));
}

static void between_enter_and_exit(int n) {
  vector* const inside = make_vectors(0);
  outside = make_vectors(0);
#pragma omp target enter data map(to : inside[0 : n], outside[0 : n])
  for (int k = 0; k < n; ++k)
    inside[k].data[0] = outside[k].data[0] = 20;
#pragma omp target update to(inside[0 : n], outside[0 : n])
#pragma omp target map(tofrom : inside[0 : n])
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < inside[k].n; ++i)
      inside[k].data[i] += i == 0 ? 20 : 40;
#pragma omp target map(tofrom : outside[0 : n])
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < outside[k].n; ++i)
      outside[k].data[i] += i == 0 ? 20 : 40;
  CHECK(inside[0].data[0] == 20 && outside[0].data[0] == 20);
#pragma omp target update from(inside[0 : 1], outside[0 : 1])
  CHECK(inside[0].data[0] == 40 && outside[0].data[0] == 40);
  CHECK(n == 1 || (inside[1].data[0] == 20 && outside[1].data[0] == 20));
#pragma omp target exit data map(from : inside[0 : n], outside[0 : n])
  check_vectors(inside, n, 40);
  check_vectors(outside, n, 40);
  CHECK(!omp_target_is_present(&outside, 0));
}

static void in_data_region(int n) {
  vector* const inside = make_vectors(0);
  outside = make_vectors(0);
#pragma omp target data map(tofrom : inside[0 : n], outside[0 : n])
  {
#pragma omp target map(tofrom : inside[0 : n])
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < inside[k].n; ++i)
        inside[k].data[i] += 1;
#pragma omp target map(tofrom : outside[0 : n])
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < outside[k].n; ++i)
        outside[k].data[i] += 1;
    CHECK(inside[0].data[0] == 0 && outside[0].data[0] == 0);
#pragma omp target
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < inside[k].n; ++i) {
        inside[k].data[i] += 1;
        outside[k].data[i] += 1;
      }
  }
  check_vectors(inside, n, 2);
  check_vectors(outside, n, 2);
}

static void device_addresses(int n) {
  vector* inside = make_vectors(0);
  vector* const host = inside;
  outside = make_vectors(0);
#pragma omp target data map(tofrom : inside[0 : n]) use_device_ptr(inside)
#pragma omp target is_device_ptr(inside)
  inside[n - 1].data[0] += 1;
  inside = host;
#pragma omp target data map(tofrom : outside[0 : n]) use_device_addr(outside[0 : n])
  {
    vector* const there = &outside[0];
#pragma omp target is_device_ptr(there)
    there[n - 1].data[0] += 1;
  }
  CHECK(host[n - 1].data[0] == 1 && outside[n - 1].data[0] == 1);
  CHECK(!omp_target_is_present(host, 0) && !omp_target_is_present(outside, 0) && !omp_target_is_present(&outside, 0));
}

static void nested_by_pointer(int n) {
  static outer* few;
  few = malloc(2 * sizeof *few);
  few[0] = few[1] = (outer){1, {0, NULL}};
  few[0].inner = make(4, 5);
  few[1].inner = make(4, 5);
#pragma omp target map(tofrom : few[0 : n])
  few[n - 1].inner.data[0] += few[n - 1].id;
#pragma omp target enter data map(to : few[0 : n])
#pragma omp target map(tofrom : few[0 : n])
  few[n - 1].inner.data[0] += few[n - 1].id;
#pragma omp target exit data map(from : few[0 : n])
  CHECK(few[n - 1].inner.data[0] == 7);
  CHECK(!omp_target_is_present(few, 0) && !omp_target_is_present(few[0].inner.data, 0));
}

int main(void) {
  one();
  counted();
  modified();
  array();
  unstructured();
#ifndef ONLY_WHAT_LLVM_CAN
  nested();
  for (int n = 1; n <= 2; ++n) {
    in_region_alone(n);
    between_enter_and_exit(n);
    in_data_region(n);
    device_addresses(n);
    nested_by_pointer(n);
  }
#endif
  return report();
}
