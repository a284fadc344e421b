/* Opens the library that the argument names, and calls its function with the region. */
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  int (*const add_one)(int) = library ? (int (*)(int))dlsym(library, "add_one") : NULL;
  if (!add_one)
    return 1;
  printf("%d\n", add_one(1));
  return 0;
}
