/* The device image of bench/mpi.c, for workers' CPUs. */
#include <stdint.h>
#include <unistd.h>

void add_one(char* bytes) {
  ++bytes[0];
}

void nap(intptr_t microseconds) {
  usleep((useconds_t)microseconds);
}
