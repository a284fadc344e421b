/* Loads the library that it is given, calls it and drops it, three times. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
  for (int i = 0; count == 2 && i < 3; i++) {
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library)
      return puts(dlerror());
    int (*twice)(int) = (int (*)(int))dlsym(library, "twice");
    printf("%d ", twice(21 + i));
    dlclose(library);
    printf("%s\n", dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) ? "stays" : "gone");
  }
  return 0;
}
