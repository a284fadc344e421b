/* The host gives memory back to the system before the device's copy comes back: the finding comes before the fault. */
#include <sys/mman.h>

int main(void) {
  const int n = 2048;
  int* const x = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#pragma omp target enter data map(to : x[0 : n])
#pragma omp target
  x[0] = 1;
  munmap(x, 8192);
#pragma omp target exit data map(from : x[0 : n]) /* OMP303 */
  return 0;
}
