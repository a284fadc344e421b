/* Shows that libomp loses tasks when a thread ends, without any libomptarget.
 *
 * Usage: clang-19 -O1 -fopenmp -rdynamic bench/handed_back.c -o handed_back
 *        ./handed_back THREADS [stay]
 *
 * Each thread makes groups of one to five target tasks, and waits for each group, for 300 ms. The function of a task
 * hands it back to libomp until 20 us have passed, as a libomptarget does whose region goes on. Then the threads end,
 * at once or, with "stay", when all have done their work. Prints "ok", or exits with 8 when a thread waits for ever. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Of libomp, as its kmp.h has them. */
int32_t __kmpc_global_thread_num(void* where);
void** __kmpc_omp_get_target_async_handle_ptr(int32_t thread);
void* __kmpc_omp_target_task_alloc(void* where, int32_t thread, int32_t flags, size_t size, size_t shared,
                                   int32_t (*function)(int32_t, void*), int64_t device);
int32_t __kmpc_omp_task(void* where, int32_t thread, void* task);
int32_t __kmpc_omp_taskwait(void* where, int32_t thread);

enum { kMost = 64, kTaskSize = 40, kTied = 1 };
static struct {
  int32_t reserved1, flags, reserved2, reserved3;
  const char* source;
} where = {0, 2, 0, 0, ";unknown;unknown;0;0;;"};
static atomic_int stop, done;
static int threads, stay;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int32_t begin(int32_t thread, void* task) {
  (void)task;
  double* const end = malloc(sizeof *end);
  *end = now() + 20;
  *__kmpc_omp_get_target_async_handle_ptr(thread) = end;
  return 0;
}

/* libomp finds this by its name. */
void __tgt_target_nowait_query(void** handle) {
  if (now() < *(double*)*handle)
    return;
  free(*handle);
  *handle = NULL;
}

static void* work(void* seed_of_thread) {
  unsigned seed = (unsigned)(intptr_t)seed_of_thread;
  const int32_t thread = __kmpc_global_thread_num(&where);
  while (!stop) {
    for (int i = rand_r(&seed) % 5; i >= 0; --i)
      __kmpc_omp_task(&where, thread, __kmpc_omp_target_task_alloc(&where, thread, kTied, kTaskSize, 0, begin, -1));
    __kmpc_omp_taskwait(&where, thread);
  }
  ++done;
  while (stay && done < threads)
    usleep(1000);
  return NULL;
}

int main(int count, char** words) {
  pthread_t all[kMost];
  threads = count > 1 ? atoi(words[1]) : 4;
  stay = count > 2;
  if (threads < 1 || threads > kMost)
    return 2;
  for (intptr_t i = 0; i < threads; ++i)
    pthread_create(&all[i], NULL, work, (void*)i);
  usleep(300000);
  stop = 1;
  for (int tenths = 0; tenths < 100 && done < threads; ++tenths)
    usleep(100000);
  if (done < threads) {
    fprintf(stderr, "%d of %d threads wait for ever\n", threads - done, threads);
    _exit(8);
  }
  for (int i = 0; i < threads; ++i)
    pthread_join(all[i], NULL);
  puts("ok");
  return 0;
}
