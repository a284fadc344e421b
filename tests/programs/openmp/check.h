/* What every program here uses. Exit code 0 and "ok": everything held. */
#ifndef CHECK_H
#define CHECK_H
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -DONLY_WHAT_LLVM_CAN leaves out where LLVM 19's runtime ends the program, or has less memory than is mapped. */

/* -DWIDE=double: for GPUs, which have no long double. */
#ifndef WIDE
#define WIDE long double
#endif

/* The tests' two workers share no memory with the program. */
static inline int has_workers(void) {
  return getenv("TESTS_MPI") != NULL;
}

static int failures;
#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                                   \
      ++failures;                                                                                                      \
    }                                                                                                                  \
  } while (0)
static inline int report(void) {
  if (!failures)
    puts("ok");
  return failures != 0;
}
#endif
