/* Opens libraries that offload, uses them and closes them: each so many times, on a thread of its own. Beside it, new
 * threads map memory for the first time. Ends by SIGALRM if threads wait for each other.
 * Usage: reloads LOADS LIBRARY... */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_LIBRARIES = 8, MAPPERS = 4, PATIENCE = 50 /* seconds */ };

static int loads;
static atomic_int wrong, loading;

static void* reload(void* path) {
  for (int i = 0; i < loads; ++i) {
    void* const library = dlopen(path, RTLD_NOW);
    int (*const next)(void) = library ? (int (*)(void))dlsym(library, "next") : NULL;
    if (!next || next() != 1 || next() != 2) // the device's variable is new with each load
      ++wrong;
    if (library)
      dlclose(library);
  }
  --loading;
  return NULL;
}

static void* map(void* unused) {
  int values[16] = {0};
#pragma omp target map(tofrom : values)
  for (int i = 0; i < 16; ++i)
    values[i] += i;
  for (int i = 0; i < 16; ++i)
    wrong += values[i] != i;
  return unused;
}

int main(int count, char** arguments) {
  pthread_t loaders[MOST_LIBRARIES], mappers[MAPPERS];
  int const libraries = count - 2;
  if (libraries < 1 || libraries > MOST_LIBRARIES)
    return 2;
  loads = atoi(arguments[1]);
  loading = libraries;
  alarm(PATIENCE);
  for (int i = 0; i < libraries; ++i)
    pthread_create(&loaders[i], NULL, reload, arguments[2 + i]);
  while (loading > 0) {
    for (int i = 0; i < MAPPERS; ++i)
      pthread_create(&mappers[i], NULL, map, NULL);
    for (int i = 0; i < MAPPERS; ++i)
      pthread_join(mappers[i], NULL);
  }
  for (int i = 0; i < libraries; ++i)
    pthread_join(loaders[i], NULL);
  puts(wrong == 0 ? "ok" : "wrong");
  return 0;
}
