/* Prints whether its region runs on the host. */
#include <omp.h>
#include <stdio.h>
int main(void) { int host = 1;
#pragma omp target map(from : host)
host = omp_is_initial_device();
printf("%d\n", host); return 0; }
