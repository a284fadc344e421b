/* A region that says where it runs, and reads a variable of the device. */
#include <omp.h>
#include <stdio.h>
int table[4] = {1, 2, 3, 4};
#pragma omp declare target to(table)
int main(void) {
  int on_host = 1;
  int sum = 0;
#pragma omp target map(from : on_host) map(tofrom : sum)
  {
    on_host = omp_is_initial_device();
    for (int i = 0; i < 4; i++) sum += table[i];
  }
  printf("%s %d\n", on_host ? "host" : "device", sum);
  return sum != 10;
}
