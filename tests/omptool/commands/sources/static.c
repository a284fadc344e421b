/* A host to link statically. */
#include "omptarget.h"
static void kernel(void) {}
OMPTARGET_KERNEL(kernel);
int main(void) { return 0; }
