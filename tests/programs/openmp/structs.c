/* Members, pointers in structs, and what lies between mapped members. */
#include "check.h"

struct data {
  int before;
  int* a;
  int n;
  double* b;
  WIDE wide __attribute__((aligned(16)));
  int after;
};

static void members(struct data* s) {
  s->n = 10;
#pragma omp target map(s->a, s->a[0 : 10], s->n)
  {
    s->a[1] = 5;
    s->n = 42;
  }
  CHECK(s->a[1] == 5 && s->n == 42);
}

static void nested_data(struct data* s) {
  s->before = 1;
  s->after = 2;
#pragma omp target data map(to : s[0 : 1]) map(tofrom : s->a[0 : 10], s->b[0 : 5])
  {
#pragma omp target
    {
      s->a[2] = s->before + s->after;
      s->b[3] = 1.5;
    }
    CHECK(s->a[2] == 2);
  }
  CHECK(s->a[2] == 3 && s->b[3] == 1.5);
}

static void enter_exit(struct data* s) {
  int* const a = s->a;
#pragma omp target enter data map(to : s[0 : 1])
#pragma omp target enter data map(to : s->a[0 : 10])
#pragma omp target
  s->a[4] = 44;
#pragma omp target exit data map(from : s->a[0 : 10])
#pragma omp target exit data map(from : s[0 : 1])
  CHECK(s->a == a && a[4] == 44);
}

static void holes(struct data* s) {
  s->before = 7;
  s->after = 8;
#pragma omp target map(tofrom : s->n, s->wide)
  {
    s->n = 1;
    s->wide = s->wide + 1;
  }
  CHECK(s->before == 7 && s->after == 8 && s->n == 1 && s->wide == 4);
}

static void whole(void) {
  struct data s = {.before = 1, .n = 2};
#pragma omp target map(tofrom : s)
  s.after = s.before + s.n;
  CHECK(s.after == 3);
#pragma omp target map(tofrom : s.before)
  s.before = 9;
  CHECK(s.before == 9);
}

struct node {
  int value;
  struct node* next;
};

static void list(void) {
  struct node nodes[4];
  for (int i = 0; i < 4; ++i)
    nodes[i] = (struct node){i + 1, i < 3 ? &nodes[i + 1] : NULL};
  struct node *a = &nodes[0], *b = &nodes[1];
  int sum = 0;
#pragma omp target map(to : a[0 : 1], a->next[0 : 1]) map(tofrom : sum)
  sum = a->value + a->next->value;
  CHECK(sum == 3);
  (void)b;
}

/* Parts that lie outside of what clang reserves for all of them. */
struct inner {
  int n;
  int* p;
};
struct nest {
  struct inner in[3];
  struct {
    int x, y;
    int* q;
  } last;
};

static int* numbers(int count, int first) {
  int* p = malloc((size_t)count * sizeof *p);
  for (int i = 0; i < count; ++i)
    p[i] = first + i;
  return p;
}

static void nested_parts(void) {
  struct nest s = {{{4, numbers(4, 0)}, {5, numbers(5, 10)}, {6, numbers(6, 20)}}, {1, 2, numbers(3, 30)}};
#if __clang_major__ < 22 /* clang 22 does not map the pointers then */
#pragma omp target map(tofrom : s.in[1].p[2 : 3], s.in[1].n)
  {
    s.in[1].p[3] += s.in[1].n;
    s.in[1].n = 77;
  }
  CHECK(s.in[1].p[3] == 18 && s.in[1].n == 77);
#pragma omp target map(tofrom : s.last.x, s.last.q[1 : 2])
  {
    s.last.x = 4;
    s.last.q[2] = 8;
  }
  CHECK(s.last.x == 4 && s.last.y == 2 && s.last.q[1] == 31 && s.last.q[2] == 8);
#endif
#pragma omp target map(tofrom : s.in[0].p[0 : 4], s.in[2].p[1 : 5])
  {
    s.in[0].p[3] = 1;
    s.in[2].p[5] = 2;
  }
  CHECK(s.in[0].p[3] == 1 && s.in[2].p[5] == 2 && s.in[1].p[0] == 10);
  CHECK(!omp_target_is_present(&s.in[0].p, 0) && !omp_target_is_present(&s.in[2].p, 0));
}

static void parts_of_elements(void) {
  struct inner* v = calloc(4, sizeof *v);
  for (int i = 0; i < 4; ++i)
    v[i] = (struct inner){i, numbers(4, 10 * i)};
#pragma omp target map(tofrom : v[1 : 2]) map(tofrom : v[1].p[0 : 3])
  {
    v[1].p[2] = 5;
    v[2].n = 6;
  }
  CHECK(v[1].p[2] == 5 && v[2].n == 6);
#if __clang_major__ < 22
#pragma omp target map(tofrom : v[1].p[0 : 3], v[3].p[1 : 2])
  v[3].p[2] += v[1].p[0];
  CHECK(v[3].p[2] == 42);
#endif
  /* Elements that are mapped one by one stay objects of their own. */
#pragma omp target enter data map(to : v[1 : 1])
#pragma omp target enter data map(to : v[2 : 1])
#pragma omp target enter data map(to : v[1].p[0 : 4], v[2].p[0 : 4])
#pragma omp target map(alloc : v[1 : 1])
  v[1].p[0] = 3;
#pragma omp target map(alloc : v[2 : 1])
  v[2].p[0] = 4;
#pragma omp target exit data map(from : v[1].p[0 : 4], v[2].p[0 : 4])
#pragma omp target exit data map(release : v[1 : 1])
#pragma omp target exit data map(release : v[2 : 1])
  CHECK(v[1].p[0] == 3 && v[2].p[0] == 4);
  CHECK(!omp_target_is_present(&v[1], 0) && !omp_target_is_present(&v[2], 0));
}

int main(void) {
  struct data* s = aligned_alloc(64, 128);
  memset(s, 0, sizeof *s);
  s->a = calloc(10, sizeof *s->a);
  s->b = calloc(5, sizeof *s->b);
  s->wide = 3;
  members(s);
  s->a[2] = 2;
  nested_data(s);
  enter_exit(s);
  holes(s);
  whole();
  list();
  nested_parts();
  parts_of_elements();
  return report();
}
