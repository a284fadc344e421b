// Data that outlives constructs: from global constructors, threads that end, linked structures, mappers; dependences.
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static bool present(const void* host) {
  return omp_target_is_present(host, 0) != 0;
}

static int doubled(int x) {
  int result = 0;
#pragma omp target map(from : result)
  result = omp_is_initial_device() ? -1 : 2 * x;
  return result;
}

// A global object that maps itself, before main() and until after it.
struct Table {
  int* values;
  Table() : values(new int[4]{1, 2, 3, 4}) {
#pragma omp target enter data map(to : this[0 : 1]) map(to : values[0 : 4])
#pragma omp target
    values[1] = 7;
  }
  ~Table() {
    int* const host = values;
#pragma omp target exit data map(from : values[0 : 4])
#pragma omp target exit data map(delete : this[0 : 1])
    if (host[1] != 7 || present(host) || present(this))
      abort();
  }
};
static Table table;
static const int early = doubled(21);

static volatile sig_atomic_t signalled = 0;

static void around_main() {
  CHECK(early == 42 && table.values[1] == 2);
  atexit([] {
    if (doubled(5) != 10)
      abort();
  });
  signal(SIGUSR1, [](int) { signalled = doubled(9); });
  raise(SIGUSR1);
  CHECK(signalled == 18);
}

static void threads_that_end() {
  static int shared[10];
  struct Last {
    int* where = nullptr;
    ~Last() {
      if (where)
        *where = doubled(4);
    }
  };
  int last = 0;
  const auto body = [](void* where) -> void* {
    static thread_local Last at_the_end;
    at_the_end.where = static_cast<int*>(where);
#pragma omp target enter data map(to : shared)
    return nullptr;
  };
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, body, &last) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
#pragma omp target
  shared[1] = 5;
#pragma omp target exit data map(from : shared)
  CHECK(shared[1] == 5 && last == 8);
}

struct Node {
  double value;
  Node *left, *right;
};

static Node* grown(int depth) {
  return depth == 0 ? nullptr : new Node{static_cast<double>(depth), grown(depth - 1), grown(depth - 1)};
}

// Since clang 22 a pointer is attached only where it or what it leads to is new: so the parent comes first there.
static void enter(Node* node) {
#pragma omp target enter data map(to : node[0 : 1])
#if __clang_major__ >= 22
  if (node->left) {
#pragma omp target enter data map(to : node->left[0 : 1])
  }
  if (node->right) {
#pragma omp target enter data map(to : node->right[0 : 1])
  }
#endif
  if (node->left) {
    enter(node->left);
#pragma omp target enter data map(to : node->left[0 : 1])
  }
  if (node->right) {
    enter(node->right);
#pragma omp target enter data map(to : node->right[0 : 1])
  }
}

#pragma omp declare target
static double sum_of(const Node* node) {
  return node ? node->value + sum_of(node->left) + sum_of(node->right) : 0;
}
#pragma omp end declare target

static void trees() {
  Node* const root = grown(6);
  enter(root);
  double sum = 0;
#pragma omp target map(from : sum)
  sum = sum_of(root);
  CHECK(sum == sum_of(root) && sum == 120);
}

static void one_pool() {
  int host[100];
  for (int i = 0; i < 100; ++i)
    host[i] = i;
  char* const pool = static_cast<char*>(omp_target_alloc(1024, 0));
  for (int k = 0; k < 5; ++k)
    CHECK(omp_target_associate_ptr(host + 20 * k, pool, 80, 128 * k, 0) == 0);
  int *third = host + 40, *moved = host + 40;
#pragma omp target update to(third[0 : 20])
#pragma omp target
  third[3] += 1000;
#pragma omp target update from(third[3 : 1])
#pragma omp target data use_device_ptr(moved)
  CHECK(reinterpret_cast<char*>(moved) == pool + 256);
  CHECK(host[43] == 1043);
  for (int k = 0; k < 5; ++k)
    CHECK(omp_target_disassociate_ptr(host + 20 * k, 0) == 0);
  omp_target_free(pool, 0);
}

struct Arrays {
  int n;
  int *p, *q;
};
#pragma omp declare mapper(first : Arrays a) map(a.n, a.p[0 : a.n])
#pragma omp declare mapper(both : Arrays a) map(a) map(tofrom : a.p[0 : a.n]) map(to : a.q[0 : a.n])
struct Vector {
  int n;
  double* d;
};
#pragma omp declare mapper(Vector v) map(v, v.d[0 : v.n])
struct Pair {
  int id;
  Vector a, b;
};
#pragma omp declare mapper(Pair p) map(p.id) map(p.a, p.b)
struct Longer : Vector {
  int extra;
  int* e;
};
#pragma omp declare mapper(Longer l) map(l, l.d[0 : l.n], l.e[0 : l.extra])

static void mappers() {
  Arrays a = {4, new int[4]{1, 2, 3, 4}, new int[4]{5, 6, 7, 8}};
#pragma omp target map(mapper(first), tofrom : a)
  a.p[2] += a.n;
#ifndef ONLY_WHAT_LLVM_CAN
#pragma omp target map(mapper(both), tofrom : a)
  {
    a.p[1] = a.q[3];
    a.q[0] = 99;
  }
  CHECK(a.p[2] == 7 && a.p[1] == 8 && a.q[0] == 5 && !present(a.p) && !present(&a));
#pragma omp target enter data map(mapper(both), to : a)
#pragma omp target map(mapper(first), tofrom : a)
  a.p[0] = 77;
  CHECK(a.p[0] == 1);
#pragma omp target update from(mapper(both) : a)
  CHECK(a.p[0] == 77);
#pragma omp target exit data map(mapper(both), from : a)
  CHECK(!present(a.p) && !present(a.q) && !present(&a));
#endif

  Pair pairs[2] = {{1, {2, new double[2]{}}, {3, new double[3]{}}}, {2, {4, new double[4]{}}, {1, new double[1]{}}}};
#pragma omp target enter data map(to : pairs)
#pragma omp target
  {
    pairs[0].a.d[1] = 10;
    pairs[1].b.d[0] = 20;
    pairs[1].id = pairs[1].a.n;
  }
#pragma omp target exit data map(from : pairs)
  CHECK(pairs[0].a.d[1] == 10 && pairs[1].b.d[0] == 20 && pairs[1].id == 4);
  CHECK(!present(pairs) && !present(pairs[1].b.d));

  Longer longer = {};
  longer.n = 2;
  longer.d = new double[2]{1, 2};
  longer.extra = 2;
  longer.e = new int[4]{5, 6}; // clang maps as many doubles: it takes (extra, e) for a Vector as well
#pragma omp target map(tofrom : longer)
  longer.d[1] = longer.e[1];
  CHECK(longer.d[1] == 6 && !present(longer.e));
}

static void dependences() {
  int a[8] = {0}, sum = 0, twice = 0, late = 0;
  omp_depend_t on;
  omp_event_handle_t event = {};
#pragma omp parallel num_threads(4)
#pragma omp single
  {
    for (int i = 0; i < 8; ++i) {
      int* const element = &a[i];
#pragma omp target nowait depend(out : a[i]) map(tofrom : element[0 : 1]) firstprivate(i)
      element[0] = i;
    }
#pragma omp target depend(iterator(k = 0 : 8), in : a[k]) map(tofrom : a, sum)
    for (int i = 0; i < 8; ++i)
      sum += a[i];
#pragma omp depobj(on) depend(inout : twice)
    for (int i = 0; i < 10; ++i) {
#pragma omp target nowait depend(depobj : on) map(tofrom : twice)
      twice = 2 * twice + 1;
    }
#pragma omp target enter data map(to : late) nowait depend(out : late)
    for (int i = 0; i < 20; ++i) {
#pragma omp target nowait depend(mutexinoutset : late) map(tofrom : late)
      ++late;
    }
#pragma omp target exit data map(from : late) nowait depend(inout : late)
#pragma omp taskwait
#pragma omp depobj(on) destroy
#pragma omp task detach(event) depend(out : sum)
    {
    }
#pragma omp target nowait depend(inout : sum) map(tofrom : sum)
    sum += 3;
#pragma omp task shared(sum)
    {
      usleep(1000);
      sum = 100;
      omp_fulfill_event(event);
    }
#pragma omp taskwait
  }
  CHECK(twice == 1023 && late == 20 && sum == 103);
}

int main() {
  around_main();
  threads_that_end();
  trees();
  one_pool();
  mappers();
  dependences();
  return report();
}
