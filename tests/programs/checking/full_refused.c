/* The process may open no more files, so that no watchpoint can be had: the checker says what it does not check. */
#include "../openmp/check.h"
#include <sys/resource.h>

enum { N = 1000 };

static int sent[N];

int main(void) {
#pragma omp target
  ;
  const struct rlimit none = {0, 0};
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
#pragma omp target map(to : sent)
  for (int i = 0; i < N; ++i)
    sent[i] = i + 1;
  CHECK(sent[1] == 0);
  return report();
}
