/* Prints where omp_get_num_devices comes from: omptool's runtime or the decoy. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int omp_get_num_devices(void);
int omp_get_default_device(void);
int main(int argc, char **argv) {
  Dl_info info;
  dladdr((void *)omp_get_num_devices, &info);
  printf("%s devices=%d default=%d args=%d\n", info.dli_fname, omp_get_num_devices(),
         omp_get_default_device(), argc - 1);
  fflush(stdout);
  if (argc > 1 && !strcmp(argv[1], "crash")) raise(SIGSEGV);
  return argc > 1 ? atoi(argv[1]) : 0;
}
