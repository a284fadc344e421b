/* A library in which each new thread begins late, and the process ends slowly: whoever ends libomp while one of its threads
 * has not begun is found out. A program names it behind libomp, so that it is the last to end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  void* (*function)(void*);
  void* argument;
} Start;

static void sleep_ms(long ms) {
  nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static void* late(void* given) {
  Start const start = *(Start*)given;
  free(given);
  sleep_ms(20);
  return start.function(start.argument);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*), void* argument) {
  int (*const create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  Start* const start = malloc(sizeof(Start));
  *start = (Start){function, argument};
  return create(thread, attributes, late, start);
}

__attribute__((destructor)) static void linger(void) {
  sleep_ms(60);
}
