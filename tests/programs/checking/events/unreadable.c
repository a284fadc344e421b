/* A section reaches into a page that nobody may touch: the copy faults, and the finding comes before it. */
#include <sys/mman.h>

int main(void) {
  const int n = 1024;
  int* const x = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(x + n, 4096, PROT_NONE);
#pragma omp target map(tofrom : x[0 : n])
  x[0] = 1;
#pragma omp target map(tofrom : x[0 : 2 * n]) /* OMP303 */
  x[0] = 2;
  return 0;
}
