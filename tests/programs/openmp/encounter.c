/* What a false `if` leaves alone, and clauses that are evaluated when their construct is met. */
#include "check.h"
#include <unistd.h>

static void on_the_host(int wanted) {
  int x[4] = {1, 2, 3, 4};
#pragma omp target if (wanted) map(tofrom : x)
  x[0] = 10;
  CHECK(x[0] == 10 && !omp_target_is_present(x, 0));
#pragma omp target enter data if (wanted) map(to : x)
  CHECK(!omp_target_is_present(x, 0));
#pragma omp target data if (wanted) map(to : x)
  CHECK(!omp_target_is_present(x, 0));
#pragma omp target enter data map(to : x)
#pragma omp target
  x[1] = 20;
#pragma omp target update if (wanted) from(x)
  CHECK(x[1] == 2);
#pragma omp target exit data if (wanted) map(delete : x)
  CHECK(omp_target_is_present(x, 0));
#pragma omp target if (wanted) map(tofrom : x) /* on the host's copy, although the device has one */
  x[2] = 30;
  CHECK(x[2] == 30);
#pragma omp target exit data map(from : x)
  CHECK(x[1] == 20 && x[2] == 3);
#pragma omp target device(omp_get_initial_device()) map(tofrom : x)
  x[3] = 40;
  CHECK(x[3] == 40);
}

/* The construct is met while `first`, `n` and `where` are as they were; it runs when the task is done. */
static void when_met(void) {
  int first[8] = {0}, other[8] = {0}, *p = first, n = 4, where = 0, ready = 0;
#pragma omp target enter data map(to : first[0 : 4], other)
#pragma omp target map(alloc : first[0 : 4])
  first[2] = 5;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(out : ready) shared(ready)
    {
      usleep(20000);
      ready = 1;
    }
#pragma omp target exit data map(from : p[0 : n]) device(where) depend(in : ready) nowait
    p = other;
    n = 8;
    where = omp_get_initial_device();
#pragma omp taskwait
  }
  CHECK(ready == 1 && first[2] == 5);
  CHECK(!omp_target_is_present(first, 0) && omp_target_is_present(other, 0));
#pragma omp target exit data map(delete : other)
}

int main(int argc, char** argv) {
  (void)argv;
  on_the_host(argc > 1000);
  when_met();
  return report();
}
