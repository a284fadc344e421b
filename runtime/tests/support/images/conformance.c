/* The image for plugins/conformance_test.cpp, for plugins whose images are shared objects of this CPU. A plugin
 * of another device brings one that does the same. */

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
