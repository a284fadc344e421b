/* A library that brings libomp: a copy waits for a task, and the default device is the host. */
#include <omp.h>
#include <unistd.h>

int second(void) {
  int x = 1, y = 0, late = 0;
  int host = omp_get_initial_device();
  void *d = omp_target_alloc(sizeof y, 0);
  omp_depend_t on;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(out : late) shared(late)
    {
      usleep(100000);
      late = 7;
    }
#pragma omp depobj(on) depend(in : late)
    omp_target_memcpy_async(d, &late, sizeof late, 0, 0, 0, host, 1, &on);
  }
  omp_target_memcpy(&y, d, sizeof y, 0, 0, host, 0);
  omp_target_free(d, 0);
  omp_set_default_device(host);
#pragma omp target map(to : x)
  x = 5;
  return 10 * y + x;
}
