/* Two kernels; with DEFINED, the first is in this object, and with AGAIN it has a second entry. */
#include "omptarget.h"

#ifdef DEFINED
void first(void *p) { *(int *)p = 1; }
#else
void first(void *p);
#endif
void second(void *p);
OMPTARGET_KERNEL(first);
OMPTARGET_KERNEL(second);
#ifdef AGAIN
OMPTARGET_ENTRY("again", first, 0);
#endif
