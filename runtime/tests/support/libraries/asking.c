/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A routine without a version, as a program exports it that libomp is linked into statically; what it
 * does is what libomp does. */
#include <dlfcn.h>

int omp_get_num_devices(void) {
  int (*count)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "__tgt_get_num_devices");
  return count ? count() : 0;
}
