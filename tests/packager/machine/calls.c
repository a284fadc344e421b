/* Prints where a function was called: file and offset, as the checker records them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noinline)) void discarded(void) { puts("nobody calls this"); }

__attribute__((noinline)) void print_call(void) {
  char *const address = __builtin_return_address(0);
  Dl_info info;
  if (dladdr(address, &info))
    printf("%s %#lx\n", info.dli_fname, (unsigned long)(address - (char *)info.dli_fbase));
}

__attribute__((noinline)) void call(void) {
  print_call(); /* the call */
  fflush(stdout);
}

#ifndef LIBRARY
int main(void) {
  call();
  return 0;
}
#endif
