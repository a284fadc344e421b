/* Threads that never end launch regions and map data while main returns. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int rounds;

/* Apart from the loop: clang 16 puts the arguments of a launch in an alloca of their own beside the call
 * (llvm-project issue 60602), so that a function that launches in a loop grows its stack until it overflows. */
__attribute__((noinline)) static void once(void) {
  int x[64] = {0};
#pragma omp target data map(tofrom : x)
  {
#pragma omp target
    for (int i = 0; i < 64; ++i)
      x[i] += i;
#pragma omp target update from(x[0 : 2])
  }
  if (x[63] != 63) {
    puts("wrong");
    _exit(1);
  }
}

static void* launch(void* unused) {
  for (;;) {
    once();
    __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
  }
  return unused;
}

int main(void) {
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, launch, NULL);
  }
  while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) < 100)
    usleep(500);
  return 0;
}
