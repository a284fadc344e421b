/* A host, and its image. */
#include "omptarget.h"
int table[4];
void kernel(int *p) { *p = table[0]; }
OMPTARGET_KERNEL(kernel);
OMPTARGET_GLOBAL(table);
int main(void) { return 0; }
