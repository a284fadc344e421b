/* Prints for each of two regions whether it ran on the host. */
#include <omp.h>
#include <stdio.h>
int table[4];
#pragma omp declare target to(table)
static int first(void) { int host = 1;
#pragma omp target map(from : host)
host = omp_is_initial_device();
return host; }
static int second(void) { int host = 1;
#pragma omp target map(from : host)
host = omp_is_initial_device() + 0 * table[1];
return host; }
int main(void) { printf("%d%d\n", first(), second()); return 0; }
