/* An image whose constructor launches a region of another library; TEST_REGION is its host address. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
int launched = -2;
void first(int* value) {
  *value = launched;
}
__attribute__((constructor)) static void launch(void) {
  int32_t (*target)(int32_t, void*, int32_t, void**, void**, int64_t*, int32_t*) = 0;
  *(void**)&target = dlvsym(RTLD_DEFAULT, "__tgt_target", "OMPTARGET_4.5");
  const char* region = getenv("TEST_REGION");
  if (target && region)
    launched = target(0, (void*)strtoul(region, 0, 16), 0, 0, 0, 0, 0);
}
