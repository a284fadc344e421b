/* Compiled by each clang: a variable of the device, one that is mapped, and two regions. */
#include <omp.h>
#include <stdio.h>

#pragma omp declare target
int shift[4] = {1, 2, 3, 4};
#pragma omp end declare target

int linked[2] = {5, 6};
#if __clang_major__ > 14 /* with one of these its own programs crash */
#pragma omp declare target link(linked)
#endif

int main(void) {
  int a[4] = {0}, on_host = 1, sum = 0;
  shift[2] = 30;
#pragma omp target update to(shift)
#pragma omp target map(tofrom : a, on_host)
  {
    on_host = omp_is_initial_device();
    for (int i = 0; i < 4; i++)
      a[i] = shift[i] * 2;
  }
#pragma omp target map(to : linked) map(tofrom : sum)
  sum = linked[0] + linked[1];
  printf("%d %d %d %d, %d, on the host: %d\n", a[0], a[1], a[2], a[3], sum, on_host);
  return on_host;
}
