/* Opens a library, uses it and closes it, twice. */
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  for (int i = 0; i < 2; ++i) {
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int (*use)(void) = (int (*)(void))dlsym(library, "use");
    printf("%d ", use());
    dlclose(library);
  }
  printf("end ");
  return 0;
}
