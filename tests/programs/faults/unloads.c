/* Opens a library that offloads, and closes it in a destructor. */
#include <dlfcn.h>
#include <stdio.h>

static void* library;

__attribute__((destructor)) static void unload(void) {
  dlclose(library);
}

int main(int count, char** arguments) {
  library = dlopen(arguments[count - 1], RTLD_NOW);
  int (*const next)(void) = (int (*)(void))dlsym(library, "next");
  puts(next() == 1 && next() == 2 ? "ok" : "wrong");
  return 0;
}
