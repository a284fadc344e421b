/* The image of bundle_host.c. */
#include "omptarget.h"
int table[4];
void first(int *p) { *p = 1; }
void second(int *p) { *p = 2; }
OMPTARGET_KERNEL(first);
OMPTARGET_GLOBAL(table);
OMPTARGET_KERNEL(second);
