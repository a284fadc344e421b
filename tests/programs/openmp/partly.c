/* What is present in part is not there for an update or at the end of a region; only mapping it fails. */
#include "check.h"

static int x[10];

int main(void) {
#pragma omp target enter data map(to : x[0 : 5])
  x[0] = 1;
#pragma omp target update to(x)
#pragma omp target exit data map(delete : x)
  CHECK(omp_target_is_present(x, 0));
  int seen = -1;
#pragma omp target map(from : seen) map(alloc : x[0 : 5])
  seen = x[0];
  CHECK(seen == 0);
#pragma omp target exit data map(delete : x[0 : 5])
  CHECK(!omp_target_is_present(x, 0));
  return report();
}
