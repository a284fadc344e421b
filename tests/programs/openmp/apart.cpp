/* Parts of a construct that lie outside of the struct they are mapped with: the pointers on the way to it. */
#include "check.h"

struct inner {
  int a;
  double* b;
};
#pragma omp declare mapper(inner i) map(tofrom : i.a) map(from : i.b[0 : 2])
struct outer {
  int e;
  inner f;
  int h;
};

static double b[2];
static outer fresh() {
  b[1] = 20;
  return {111, {222, b}, 10};
}
static void check_changed(const outer& o) {
  CHECK(o.e == 333 && o.f.a == 444 && o.f.b == b && b[1] == 40 && o.h == 11);
}
#define CHANGE(o) ((o).e *= 3, (o).f.a *= 2, (o).f.b[1] = 40, (o).h++)

/* Through a pointer next to the struct, and through one that is far from it. */
static void through_two_pointers() {
#if __clang_major__ < 22 /* which maps only the last of them, and attaches it to the one that is not there */
  struct {
    outer* pointer;
    outer object;
  } near_by = {&near_by.object, fresh()};
  outer** all = &near_by.pointer;
#pragma omp target map(tofrom : all[0][0])
  CHANGE(all[0][0]);
  check_changed(near_by.object);
  outer* far = static_cast<outer*>(malloc(sizeof(outer)));
  *far = fresh();
  all = &far;
#pragma omp target map(tofrom : all[0][0])
  CHANGE(all[0][0]);
  check_changed(*far);
  *far = fresh();
#pragma omp target data map(tofrom : all[0][0])
  {
    CHECK(omp_target_is_present(&far, 0) && omp_target_is_present(&far->h, 0));
#pragma omp target
    CHANGE(all[0][0]);
  }
  check_changed(*far);
  CHECK(!omp_target_is_present(&far, 0) && !omp_target_is_present(far, 0));
  free(far);
#endif
}

struct pair {
  int first, second;
  double* values;
};

/* Two pointers lead to the parts, which are far from both. */
static void parts_behind_two_pointers() {
  pair* object = static_cast<pair*>(malloc(sizeof(pair)));
  *object = {1, 2, b};
  pair** all = &object;
#pragma omp target enter data map(to : (*all)->first, (*all)->values[0 : 2])
  CHECK(omp_target_is_present(&object->first, 0) && omp_target_is_present(b, 0));
#pragma omp target exit data map(from : (*all)->first, (*all)->values[0 : 2])
  CHECK(!omp_target_is_present(&object->first, 0) && !omp_target_is_present(b, 0));
  free(object);
}

/* A pointer and a member of what it points to, beside an array. */
static void pointer_and_member() {
  int array[10] = {0}, seen = 0;
  pair* p = static_cast<pair*>(malloc(sizeof(pair)));
  *p = {1, 2, b};
#pragma omp target enter data map(to : array) map(to : p, p->second)
  CHECK(omp_target_is_present(array, 0) && omp_target_is_present(&p, 0) && omp_target_is_present(&p->second, 0));
#pragma omp target enter data map(to : p, p->second)
  p->second = 3;
#pragma omp target map(from : seen)
  seen = p->second;
  CHECK(seen == 2);
#pragma omp target exit data map(release : p, p->second)
  CHECK(omp_target_is_present(&p, 0) && omp_target_is_present(&p->second, 0));
#pragma omp target exit data map(release : array) map(release : p, p->second)
  CHECK(!omp_target_is_present(array, 0) && !omp_target_is_present(&p, 0) && !omp_target_is_present(&p->second, 0));
#pragma omp target data map(to : array) map(to : p, p->second)
  CHECK(omp_target_is_present(&p, 0) && omp_target_is_present(&p->second, 0));
  CHECK(!omp_target_is_present(&p, 0) && !omp_target_is_present(&p->second, 0));
  free(p);
}

int main() {
  through_two_pointers();
  parts_behind_two_pointers();
  pointer_and_member();
  return report();
}
