/* A host that no OpenMP compiler made: it asks LLVM's runtime itself, as clang 14 did. */
#include <stdint.h>
#include <stdio.h>

#define FROM 2
#define TO 1
#define ARGUMENT 32

extern int __tgt_target_mapper(void *ident, int64_t device, void *host, int32_t count, void **bases,
                               void **begins, int64_t *sizes, int64_t *types, void **names,
                               void **mappers);

int offset = 1;

void add(int *values) { /* on the host: nothing is added */
  (void)values;
}

int main(void) {
  int values[2] = {10, 20};
  void *row = values;
  int64_t size = sizeof values, type = TO | FROM | ARGUMENT;
  void *name = 0, *mapper = 0;
  int failed = __tgt_target_mapper(0, -1, (void *)add, 1, &row, &row, &size, &type, &name, &mapper);
  printf("%d: %d %d\n", failed, values[0], values[1]);
  return failed;
}
