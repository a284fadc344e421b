/* One global and two kernels; what a device makes of them is the same source. */
#include "libtarget.h"
long table[4];
void first(long *p) { *p = 1; }
void second(long *p) { *p = 2; }
