/* A device image for the tests of libtarget.so: every argument is an object's address, and the table
 * has no names. It must agree with abi/proposal/calls_test.cpp on the order. */
#include "libtarget.h"

int counter = 5;

void add_one(int* values, const int* count) {
  for (int i = 0; i < *count; ++i)
    ++values[i];
}

void add_counter(int* value) {
  *value += counter++;
}

void sum6(const int* a, const int* b, const int* c, const int* d, const int* e, int* f) {
  *f = *a + *b + *c + *d + *e;
}

#ifndef SHORT
LIBTARGET_GLOBAL(counter);
#endif
#ifdef SWAPPED
LIBTARGET_GLOBAL(counter);
LIBTARGET_KERNEL(add_one);
#else
LIBTARGET_KERNEL(add_one);
LIBTARGET_KERNEL(add_counter);
#endif
LIBTARGET_KERNEL(sum6);
#ifndef SHORT
LIBTARGET_ENTRY(0, 0); /* not supported on this device */
#endif
