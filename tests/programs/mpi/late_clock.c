/* For LD_PRELOAD: the monotonic clock of a process, ten seconds late. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real)
    real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, time);
  if (clock == CLOCK_MONOTONIC)
    time->tv_sec -= 10;
  return result;
}
