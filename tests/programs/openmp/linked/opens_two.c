/* Opens the library BEFORE, and calls libfirst.so and libsecond.so. */
#include <dlfcn.h>
#include <stdio.h>

static int call(const char *file, const char *name) {
  void *library = dlopen(file, RTLD_NOW);
  return library ? ((int (*)(void))dlsym(library, name))() : -1;
}

int main(void) {
  dlopen(BEFORE, RTLD_NOW);
  printf("%d ", call("libfirst.so", "first"));
  printf("%d\n", call("libsecond.so", "second"));
  return 0;
}
