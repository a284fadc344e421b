/* A host with two kernels, one of them static, and a constructor. */
#include <stdio.h>
#include "omptarget.h"
static int helper(int x) { return x + 1; }
int table[4] = {1, 2, 3, 4};
void kernel_one(int *p) { *p = helper(*p); }
static void kernel_two(int *p) { *p = helper(table[1]); }
OMPTARGET_KERNEL(kernel_one);
OMPTARGET_GLOBAL(table);
OMPTARGET_KERNEL(kernel_two);
__attribute__((constructor(101))) static void early(void) { puts("host constructor"); }
int main(void) { int x = 1; kernel_one(&x); kernel_two(&x); printf("main %d\n", x); return 0; }
