/* The device image of the stress and fault tests, without the document's library: atomics are the
 * processor's. */
long calls; /* of count_call */
int scale = 3;
long by_worker[4]; /* calls of count_by, each of one thread */

void count_call(void) {
  __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

void count_by(long worker) {
  ++by_worker[worker];
}

/* One more in a sum that other launches add to at the same time. */
void add_shared(long* sum, long amount) {
  __atomic_fetch_add(sum, amount, __ATOMIC_RELAXED);
}

/* own[i] += table[i]. */
void add_table(long* own, const long* table, long count) {
  for (long i = 0; i < count; ++i)
    own[i] += table[i];
}

struct vector {
  long count;
  int* items;
};

void scale_items(struct vector* vector) {
  for (long i = 0; i < vector->count; ++i)
    vector->items[i] *= scale;
}
