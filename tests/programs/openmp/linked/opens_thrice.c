/* Opens a library, calls it twice and closes it, three times. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  for (int i = 0; i < 3; ++i) {
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int (*next)(void) = (int (*)(void))dlsym(library, "next");
    printf("%d%d ", next(), next());
    dlclose(library);
  }
  return 0;
}
