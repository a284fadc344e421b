/* A struct of 24 bytes that begins at no multiple of 16, with a pointer to what is mapped, too. */
struct List {
  long before;
  struct {
    long count;
    int* values;
    long after;
  } inner;
};

int main(void) {
  static struct List all __attribute__((aligned(16)));
  static int values[8];
  all.inner.count = 8;
  all.inner.values = values;
#pragma omp target map(tofrom : all.inner.count, all.inner.values, all.inner.after)                                    \
    map(tofrom : all.inner.values[0 : 8])
  for (long i = 0; i < all.inner.count; ++i)
    all.inner.values[i] = (int)i;
  return values[7] != 7;
}
