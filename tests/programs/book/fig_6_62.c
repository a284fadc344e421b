/* Figure 6.62: a list goes to the device item by item, where a region links the copies. */
#include "book.h"

typedef struct item {
  struct item* next;
  int value;
} item;

static item* copied(const item* list) {
  int const device = omp_get_default_device(), host = omp_get_initial_device();
  int count = 0, at = 0;
  if (!list)
    return NULL;
  for (const item* from = list; from; from = from->next)
    ++count;
  item* to = omp_target_alloc(count * sizeof *to, device);
  for (const item* from = list; from; from = from->next, ++at)
    CHECK(omp_target_memcpy(to, from, sizeof *to, at * sizeof *to, 0, device, host) == 0);
#pragma omp target is_device_ptr(to)
  {
    int i = 0;
    for (; i < count - 1; ++i)
      to[i].next = &to[i + 1];
    to[i].next = NULL;
  }
  return to;
}

int main(void) {
  enum { COUNT = 50 };
  item* list = NULL;
  for (int i = 0; i < COUNT; ++i) {
    item* first = malloc(sizeof *first);
    *first = (item){list, i * i};
    list = first;
  }
  item* there = copied(list);
  int sum = 0, length = 0, on_device = 0;
#pragma omp target is_device_ptr(there) map(from : sum, length, on_device)
  {
    sum = length = 0;
    on_device = ON_DEVICE();
    for (const item* at = there; at; at = at->next, ++length)
      sum += at->value;
  }
  CHECK(on_device && length == COUNT && sum == (COUNT - 1) * COUNT * (2 * COUNT - 1) / 6);
  CHECK(copied(NULL) == NULL);
  omp_target_free(there, omp_get_default_device());
  while (list) {
    item* next = list->next;
    free(list);
    list = next;
  }
  return report();
}
