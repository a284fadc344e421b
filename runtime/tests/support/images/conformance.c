/* The image for plugins/conformance_test.cpp, for plugins whose images are shared objects of this CPU. A plugin
 * of another device brings one that does the same. */

#include <unistd.h>

enum { A_MOMENT = 50 }; /* microseconds */

/* Each image that is loaded has one of its own. */
int counter = 5;

void nothing(void) {}

void add(int* values, long count, long amount) {
  for (long i = 0; i < count; ++i)
    values[i] += (int)amount;
}

void add_to_counter(long amount) {
  counter += (int)amount;
}

void store_seven(long* seen, long a, long b, long c, long d, long e, long f) {
  const long all[] = {a, b, c, d, e, f};
  for (int i = 0; i < 6; ++i)
    seen[i] = all[i];
}

void count_calls(int* calls) {
  __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

/* Ends when `gate` is open. */
void hold(int* gate) {
  while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE))
    usleep(A_MOMENT);
}

/* Ends when as many as `count` have begun. */
void meet(int* begun, long count) {
  __atomic_fetch_add(begun, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(begun, __ATOMIC_ACQUIRE) < count)
    usleep(A_MOMENT);
}

/* Adds `number` to a list: its length, how many are inside, how often several were, and the numbers. */
void note(int* list, long number) {
  if (__atomic_fetch_add(&list[1], 1, __ATOMIC_ACQ_REL) != 0)
    __atomic_fetch_add(&list[2], 1, __ATOMIC_ACQ_REL);
  usleep(A_MOMENT);
  list[3 + __atomic_fetch_add(&list[0], 1, __ATOMIC_ACQ_REL)] = (int)number;
  __atomic_fetch_sub(&list[1], 1, __ATOMIC_ACQ_REL);
}
