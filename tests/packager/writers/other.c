/* A second object with an entry. */
#include "omptarget.h"
static void other(void) {}
OMPTARGET_KERNEL(other);
