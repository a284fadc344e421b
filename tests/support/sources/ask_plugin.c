/* Prints how many devices a plugin has, and why there are none. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!plugin) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*const count)(void) = (int (*)(void))dlsym(plugin, "__tgt_rtl_number_of_devices");
  const char* (*const why)(void) = (const char* (*)(void))dlsym(plugin, "__tgt_rtl_last_error");
  const int devices = count();
  const char* const reason = why();
  printf("%d %s\n", devices, reason ? reason : "");
  return 0;
}
