/* A library beside a program that looks like omptool's runtime, by the version of its calls, and
 * writes PWNED when somebody loads it.
 *
 *   gcc -shared -fPIC -Wl,--version-script=hostile_runtime.map hostile_runtime.c -o libomptarget.so */
#include <stdio.h>

__attribute__((constructor)) static void be_hostile(void) {
  FILE* const mark = fopen("PWNED", "w");
  if (mark)
    fclose(mark);
}

void __tgt_register_lib(void* library) { (void)library; }
