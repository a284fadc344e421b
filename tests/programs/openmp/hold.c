/* ompx_hold (-fopenmp-extensions): a reference that only its own construct gives up. */
#include "check.h"

int main(void) {
  int x[10] = {0};
#pragma omp target data map(ompx_hold, tofrom : x)
  {
#pragma omp target exit data map(delete : x)
    CHECK(omp_target_is_present(x, 0));
#pragma omp target enter data map(to : x)
#pragma omp target exit data map(release : x)
    CHECK(omp_target_is_present(x, 0));
#pragma omp target
    x[1] = 1;
    CHECK(x[1] == 0);
  }
  CHECK(x[1] == 1 && !omp_target_is_present(x, 0));
  return report();
}
