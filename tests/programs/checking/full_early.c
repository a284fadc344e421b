/* The host uses variables before a `nowait` region has ended: it reads what comes back, and writes what goes to the
 * device. To read what only goes there is right. */
#include "../openmp/check.h"
#include <unistd.h>

enum { N = 1000 };

static int out[N], in[N];

int main(void) {
  int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target nowait map(to : in) map(tofrom : out)
    {
      const double begin = omp_get_wtime();
      while (omp_get_wtime() - begin < 1)
        ;
      for (int i = 0; i < N; ++i)
        out[i] += in[i];
    }
    usleep(400000);
    sum += in[0];
    sum += out[0]; /* OMP324 */
    in[0] = 3;     /* OMP324 */
#pragma omp taskwait
    sum += out[0] + in[0];
  }
  CHECK(sum == 3);
  return report();
}
