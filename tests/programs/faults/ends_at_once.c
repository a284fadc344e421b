/* The process ends as soon as a region has that runs on a thread of the runtime's. */
#include <stdio.h>

int main(void) {
  int here = 0;
#pragma omp target teams distribute map(tofrom : here) nowait
  for (int i = 0; i < 1; i++)
    here = 1;
#pragma omp taskwait
  puts(here ? "ok" : "lost");
  return 0;
}
