/* One global and two kernels; what a device makes of them, in the same order, is the same source. */
#include "omptarget.h"
long table[4];
void first(void *p) { *(int *)p = 1; }
void second(void *p) { *(int *)p = 2; }
OMPTARGET_GLOBAL(table);
OMPTARGET_KERNEL(first);
OMPTARGET_KERNEL(second);
