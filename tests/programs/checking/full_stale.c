/* Copies that overwrite a change at their other end: the host's by the end of a `target data`, a region's by an update,
 * and by `always`. */
#include "../openmp/check.h"

enum { N = 100 };

int main(void) {
  int host[N] = {0}, device[N] = {0}, flag = 0;
#pragma omp target data map(tofrom : host) /* OMP325 */
  {
    host[0] = 5;
#pragma omp target
    host[1] = 6;
  }
  CHECK(host[0] == 0 && host[1] == 6);
#pragma omp target data map(tofrom : device)
  {
#pragma omp target
    device[0] = 12;
#pragma omp target update to(device) /* OMP325 */
  }
  CHECK(device[0] == 0);
#pragma omp target data map(tofrom : flag)
  {
#pragma omp target map(flag)
    flag = 1;
#pragma omp target map(always, to : flag) /* OMP325 */
    flag += 2;
  }
  CHECK(flag == 2);
  return report();
}
