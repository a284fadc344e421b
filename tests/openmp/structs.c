/* Members, pointers in structs, and what lies between mapped members. */
#include "check.h"

struct data {
  int before;
  int* a;
  int n;
  double* b;
  long double wide __attribute__((aligned(16)));
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
  CHECK(s->before == 7 && s->after == 8 && s->n == 1 && s->wide == 4.0L);
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
  return report();
}
