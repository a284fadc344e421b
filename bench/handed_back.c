/* Shows what libomp does when threads end, without any libomptarget: it loses tasks, and loses a wake-up.
 *
 * Usage: clang-19 -O1 -fopenmp -rdynamic bench/handed_back.c -o handed_back
 *        ./handed_back THREADS early|together|in-turn
 *
 * Each thread makes groups of one to five target tasks, and waits for each group, for 300 ms. The function of a task
 * hands it back to libomp until 20 us have passed, as a libomptarget does whose region goes on. Then the threads end:
 * early, each when its own tasks have ended; together, when all have done their work; or then, but in turn.
 * Prints "ok", or exits with 8 when a thread does not end within 10 seconds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static atomic_int stop, done, may_end; /* may_end: how many of the threads, by their numbers */
static int threads, together;

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

static void* work(void* number) {
  unsigned seed = (unsigned)(intptr_t)number;
  const int32_t thread = __kmpc_global_thread_num(&where);
  while (!stop) {
    for (int i = rand_r(&seed) % 5; i >= 0; --i)
      __kmpc_omp_task(&where, thread, __kmpc_omp_target_task_alloc(&where, thread, kTied, kTaskSize, 0, begin, -1));
    __kmpc_omp_taskwait(&where, thread);
  }
  ++done;
  while (may_end <= (intptr_t)number && !(together && done == threads))
    sched_yield();
  return NULL;
}

static void join(pthread_t thread) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 10;
  if (!pthread_timedjoin_np(thread, NULL, &end))
    return;
  fprintf(stderr, "a thread does not end: %d have done their work\n", done);
  _exit(8);
}

int main(int count, char** words) {
  pthread_t all[kMost];
  threads = count == 3 ? atoi(words[1]) : 0;
  if (threads < 1 || threads > kMost)
    return 2;
  together = !strcmp(words[2], "together");
  may_end = !strcmp(words[2], "early") ? threads : 0;
  for (intptr_t i = 0; i < threads; ++i)
    pthread_create(&all[i], NULL, work, (void*)i);
  usleep(300000);
  stop = 1;
  for (int tenths = 0; tenths < 100 && !may_end && done < threads; ++tenths)
    usleep(100000);
  for (int i = 0; i < threads; ++i) {
    may_end += !strcmp(words[2], "in-turn");
    join(all[i]);
  }
  puts("ok");
  return 0;
}
