/* A library whose first constructor and destructor are bound by name, as libgcc_s's. */
#include <stdio.h>
void named(void) { puts("named"); }
void kernel(void *p) { *(int *)p = 1; }
__attribute__((section(".init_array"), used)) static void (*first)(void) = named;
__attribute__((section(".fini_array"), used)) static void (*last)(void) = named;
