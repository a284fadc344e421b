/* Calls of every kind in a destructor, after the program's images are gone. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int x[4] = {1, 2, 3, 4};

__attribute__((destructor)) static void late(void) {
#pragma omp target enter data map(to : x)
#pragma omp target map(tofrom : x)
  x[0] += 1;
#pragma omp target update from(x)
#pragma omp target exit data map(from : x)
  void* const memory = omp_target_alloc(8, omp_get_default_device());
  omp_target_free(memory, omp_get_default_device());
  _exit(x[0] == 3 ? 0 : 1); /* 1, one of main's, one of this */
}

int main(void) {
#pragma omp target map(tofrom : x)
  x[0] += 1;
  return 9;
}
