/* A device image for the tests. It must agree with support.h on the names. */
#include "../../../plugins/host/kernels/thread_state.h"

const struct omptool_thread_state* (*__omptool_thread_state)(void);

/* ---- globals ---- */
int counter = 5;
void* seen[24];
int order[16];
int order_length;

/* ---- what a kernel gets ---- */
void record(void* a, void* b, void* c, void* d, void* e, void* f) {
  void* const all[] = {a, b, c, d, e, f};
  for (int i = 0; i < 6; ++i)
    seen[i] = all[i];
}

void record1(void* a) {
  seen[0] = a;
}
void record7(void* a, void* b, void* c, void* d, void* e, void* f, void* g) {
  record(a, b, c, d, e, f);
  seen[6] = g;
}

void record20(void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, void* j, void* k,
              void* l, void* m, void* n, void* o, void* p, void* q, void* r, void* s, void* t) {
  void* const all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t};
  /* Aligned vector stores need an aligned stack. */
  volatile long double wide __attribute__((aligned(16))) = 1;
  for (int at = 0; at < 20; ++at)
    seen[at] = wide > 0 ? all[at] : 0;
}

/* ---- what a kernel does ---- */
void add_one(int* values, long count) {
  for (long i = 0; i < count; ++i)
    ++values[i];
}

void add_ten(int* values, long count) {
  for (long i = 0; i < count; ++i)
    values[i] += 10;
}

void add_one_by(int** values, long count) {
  add_one(*values, count);
}

/* Adds the second array's items from its second on. */
void add_second(int* values, const int* more) {
  for (int i = 0; i < 2; ++i)
    values[i] += more[i + 1];
}

void count_up(void) {
  ++counter;
}

void add_counter(int* value) {
  *value += counter;
}

void nothing(void) {}

/* Calls the host, and adds one. */
void call_host(int* value, void (*function)(void)) {
  function();
  ++*value;
}

/* Adds ten once the host says so, and says when it has begun: one more than its device's number. */
void add_ten_later(int* value, int* begun, int* may_go_on) {
  const int device = __omptool_thread_state ? __omptool_thread_state()->device_num : 0;
  __atomic_store_n(begun, device + 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(may_go_on, __ATOMIC_ACQUIRE))
    ;
  *value += 10;
}

/* Adds one, and waits until as many have come here as are expected. */
void meet(int* value, int* come, long expected) {
  __atomic_fetch_add(come, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(come, __ATOMIC_ACQUIRE) < expected)
    ;
  __atomic_fetch_add(value, 1, __ATOMIC_RELAXED);
}

/* To both, which other launches add to at the same time. */
void add_both(long* one, long* other, long amount) {
  __atomic_fetch_add(one, amount, __ATOMIC_RELAXED);
  __atomic_fetch_add(other, amount, __ATOMIC_RELAXED);
}

/* The result depends on the order of the launches. */
void times_plus(long* value, long factor, long amount) {
  *value = *value * factor + amount;
}

struct list {
  int before;
  int* items;
  long length;
  int after;
};

void list_add_one(struct list* list) {
  for (long i = 0; i < list->length; ++i)
    ++list->items[i];
}

/* The target region of the interface document's example of pointer mapping. */
enum { kM = 8, kS = 2 };
struct S1 {
  int x, y, B[kM], *pb, u, v;
};
void example(int* pA, int* A, struct S1* s1, int* C, long i, int* D) {
  void* const all[] = {pA, A, s1, C, (void*)i, D};
  for (int at = 0; at < 6; ++at)
    seen[at] = all[at];
  for (i = kS; i < kM; ++i) {
    ++A[i];
    --pA[i];
    s1->pb[i - kS] = s1->B[i - kS] + A[i] * pA[i] - C[i] * D[i];
  }
}

/* ---- constructors and destructors ---- */
void construct(long which) {
  order[order_length++] = (int)which;
}

/* ---- teams ---- */
void team_square(int* marks, int* shape) {
  const struct omptool_thread_state* state = __omptool_thread_state();
  __atomic_fetch_add(&marks[state->team_num * state->num_threads + state->thread_num], 1, __ATOMIC_RELAXED);
  if (state->team_num == 0 && state->thread_num == 0) {
    shape[0] = state->num_teams;
    shape[1] = state->num_threads;
    shape[2] = state->device_num;
  }
}

/* ---- a kernel that is not exported: only the image's own table knows it ---- */
static void hidden(int* value) {
  *value = 77;
}

struct entry {
  void* addr;
  const char* name;
  long size;
};
__attribute__((section("omptarget_entries"), used, aligned(8))) static struct entry table[] = {
    {(void*)hidden, "hidden", 0},
    {0, "absent", 0},
};
