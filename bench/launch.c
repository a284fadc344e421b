/* Times target constructs inside one process; bench/launch.py compiles, runs and compares.
 *
 * Usage: launch constructs | repeat NAME COUNT | objects COUNT | threads | bandwidth | register
 *
 * `repeat` times nothing: it runs one construct COUNT times, for bench/instructions.py.
 * Prints lines of "name figure". Times are nanoseconds for one construct or object; those of
 * constructs are of the fastest of several batches, which no other process has interrupted, those of
 * objects are of the processor. */
#define _GNU_SOURCE
#include "timing.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of the processor, which other processes do not lengthen. */
static double used(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

static void* touched(size_t bytes) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    exit(3);
  memset(memory, 1, bytes);
  return memory;
}

/* ---- constructs ---- */

static double one[8], two[8], three[8];

static void empty_region(void) {
#pragma omp target
  {
  }
}

static void by_value(void) {
  const int scalar = 7;
#pragma omp target firstprivate(scalar)
  {
    volatile int use = scalar;
    (void)use;
  }
}

static void map_one(void) {
#pragma omp target map(tofrom : one)
  one[0] += 1;
}

static void map_three(void) {
#pragma omp target map(tofrom : one, two, three)
  one[0] += two[0] + three[0];
}

static void update(void) {
#pragma omp target update to(one)
}

static void measure(const char* name, void (*construct)(void)) {
  const struct pacing pacing = {.warm_up = 200, .probes = 200, .batches = 25};
  printf("%s %.2f\n", name, fastest(construct, pacing));
}

static void constructs(void) {
  measure("empty", empty_region);
  measure("scalar", by_value);
  measure("map-64B", map_one);
  measure("map-three", map_three);
#pragma omp target data map(tofrom : one)
  {
    measure("present", map_one);
    measure("update-64B", update);
  }
}

/* ---- one construct, repeated ---- */

static int repeat(const char* name, long count) {
  static const struct {
    const char* name;
    void (*construct)(void);
    int is_present;
  } all[] = {{"empty", empty_region, 0},
             {"map-64B", map_one, 0},
             {"map-three", map_three, 0},
             {"present", map_one, 1},
             {"update-64B", update, 1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (strcmp(name, all[i].name))
      continue;
#pragma omp target data map(tofrom : one) if (all[i].is_present)
    for (long round = 0; round < count; ++round)
      all[i].construct();
    return 0;
  }
  return 2;
}

/* ---- many objects ---- */

struct object {
  double values[8];
};

static void objects(long count) {
  struct object* all = touched((size_t)count * sizeof *all);
  uint32_t* order = touched((size_t)count * sizeof *order);
  uint64_t state = 88172645463325252u;
  for (long i = 0; i < count; ++i)
    order[i] = (uint32_t)i;
  for (long i = count - 1; i > 0; --i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* Marsaglia's xorshift64 */
    const long other = (long)(state % (uint64_t)(i + 1));
    const uint32_t kept = order[i];
    order[i] = order[other], order[other] = kept;
  }
  empty_region();
  const double start = used();
  for (long i = 0; i < count; ++i) {
    double* x = all[i].values;
#pragma omp target enter data map(to : x[0 : 8])
  }
  const double entered = used();
  for (long i = 0; i < count; ++i) {
    double* x = all[order[i]].values;
#pragma omp target map(tofrom : x[0 : 8])
    x[0] += 1;
  }
  const double launched = used();
  for (long i = 0; i < count; ++i) {
    double* x = all[i].values;
#pragma omp target exit data map(from : x[0 : 8])
  }
  const double left = used();
  for (long i = 0; i < count; ++i)
    if (all[i].values[0] <= all[i].values[1])
      exit(4);
  printf("enter %.2f\nlaunch %.2f\nleave %.2f\n", (entered - start) / (double)count,
         (launched - entered) / (double)count, (left - launched) / (double)count);
}

/* ---- two threads ---- */

struct worker {
  int core;
  void (*work)(struct worker*, long);
  long rounds;
  pthread_barrier_t* start;
  double elapsed;
  double* own;
  volatile uint64_t result;
};

static void arithmetic(struct worker* me, long rounds) {
  uint64_t x = (uint64_t)me->core + 1;
  for (long i = 0; i < rounds; ++i)
    for (int step = 0; step < 32; ++step)
      x = x * 6364136223846793005u + 1442695040888963407u;
  me->result = x;
}

static void launch_present(struct worker* me, long rounds) {
  double* x = me->own;
#pragma omp target data map(tofrom : x[0 : 8])
  for (long i = 0; i < rounds; ++i) {
#pragma omp target map(tofrom : x[0 : 8])
    x[0] += 1;
  }
}

static void launch_mapping(struct worker* me, long rounds) {
  double* x = me->own;
  for (long i = 0; i < rounds; ++i) {
#pragma omp target map(tofrom : x[0 : 8])
    x[0] += 1;
  }
}

static void* run(void* argument) {
  struct worker* me = argument;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(me->core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  me->work(me, 100);
  pthread_barrier_wait(me->start);
  const double begin = now();
  me->work(me, me->rounds);
  me->elapsed = now() - begin;
  return NULL;
}

/* Seconds of the slowest of `count` threads, each with `rounds` rounds on an object of its own. */
static double with_threads(int count, void (*work)(struct worker*, long), long rounds, double* own) {
  pthread_t threads[2];
  struct worker workers[2];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) {
    workers[i] = (struct worker){.core = i, .work = work, .rounds = rounds, .start = &start, .own = own + i * 512};
    pthread_create(&threads[i], NULL, run, &workers[i]);
  }
  double slowest = 0;
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    slowest = workers[i].elapsed > slowest ? workers[i].elapsed : slowest;
  }
  pthread_barrier_destroy(&start);
  return slowest;
}

/* How much more work two threads do than one, beside what they do of plain arithmetic. */
static void scaling(const char* name, void (*work)(struct worker*, long), double* own) {
  enum { kTrials = 21 };
  double ratios[kTrials], arithmetics[kTrials], launches[kTrials];
  const long probe = 2000;
  const long rounds = (long)(probe * 20e6 / with_threads(1, work, probe, own)) + 1;
  const long plain = (long)(probe * 20e6 / with_threads(1, arithmetic, probe, own)) + 1;
  for (int i = 0; i < kTrials; ++i) {
    const double alone = with_threads(1, arithmetic, plain, own), both = with_threads(2, arithmetic, plain, own);
    const double launch_alone = with_threads(1, work, rounds, own), launch_both = with_threads(2, work, rounds, own);
    arithmetics[i] = 2 * alone / both;
    launches[i] = 2 * launch_alone / launch_both;
    ratios[i] = launches[i] / arithmetics[i];
  }
  printf("%s-arithmetic %.3f\n%s-scaling %.3f\n%s-ratio %.3f\n", name, median(arithmetics, kTrials), name,
         median(launches, kTrials), name, median(ratios, kTrials));
}

static void threads(void) {
  double* own = touched(1 << 20);
  scaling("present", launch_present, own);
  scaling("mapping", launch_mapping, own);
}

/* ---- bandwidth ---- */

static void bandwidth(void) {
  enum { kTrials = 15 };
  const size_t bytes = (size_t)256 << 20;
  char *source = touched(bytes), *target = touched(bytes);
  double to[kTrials], from[kTrials], rate[kTrials];
#pragma omp target enter data map(to : source[0 : bytes])
  for (int i = 0; i < kTrials; ++i) {
    const double begin = now();
    memcpy(target, source, bytes);
    __asm__ volatile("" : : "r"(target) : "memory");
    const double copied = now();
#pragma omp target update to(source[0 : bytes])
    const double sent = now();
#pragma omp target update from(source[0 : bytes])
    const double received = now();
    to[i] = (copied - begin) / (sent - copied);
    from[i] = (copied - begin) / (received - sent);
    rate[i] = (double)bytes / (copied - begin);
  }
#pragma omp target exit data map(delete : source[0 : bytes])
  printf("memcpy-GBs %.2f\nto-ratio %.3f\nfrom-ratio %.3f\n", median(rate, kTrials), median(to, kTrials),
         median(from, kTrials));
}

/* ---- registration ---- */

struct image {
  void *begin, *end, *entries_begin, *entries_end;
};
struct descriptor {
  int32_t image_count;
  struct image* images;
  void *entries_begin, *entries_end;
};
void __tgt_register_lib(struct descriptor*);
void __tgt_unregister_lib(struct descriptor*);

/* As clang 19 and as clang 22 write them. */
struct entry32 {
  void* address;
  const char* name;
  uint64_t size;
  uint32_t flags, data;
};
struct entry56 {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void* address;
  const char* name;
  uint64_t size, data;
  void* auxiliary;
};

static void registration(void) {
  enum { kEntries = 100000, kTrials = 9, kNameSize = 24 };
  const size_t image_size = (size_t)1 << 30;
  char *names = touched((size_t)kEntries * kNameSize), *addresses = touched(kEntries);
#if __clang_major__ >= 20
  struct entry56* entries = touched(kEntries * sizeof *entries);
#else
  struct entry32* entries = touched(kEntries * sizeof *entries);
#endif
  memset(entries, 0, kEntries * sizeof *entries);
  for (int i = 0; i < kEntries; ++i) {
    char* name = names + (size_t)i * kNameSize;
    snprintf(name, kNameSize, "kernel_%d", i);
#if __clang_major__ >= 20
    entries[i].version = 1, entries[i].kind = 1;
#endif
    entries[i].address = addresses + i, entries[i].name = name;
  }
  char* image = mmap(NULL, image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (image == MAP_FAILED)
    exit(3);
  double times[kTrials];
  for (int i = 0; i < kTrials; ++i) {
    struct image one_image = {image, image + image_size, entries, entries + kEntries};
    struct descriptor descriptor = {1, &one_image, entries, entries + kEntries};
    const double begin = now();
    __tgt_register_lib(&descriptor);
    times[i] = now() - begin;
    __tgt_unregister_lib(&descriptor);
  }
  printf("register-ms %.4f\n", median(times, kTrials) / 1e6);
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "";
  if (!strcmp(part, "constructs"))
    constructs();
  else if (!strcmp(part, "repeat") && argc > 3)
    return repeat(argv[2], atol(argv[3]));
  else if (!strcmp(part, "objects") && argc > 2)
    objects(atol(argv[2]));
  else if (!strcmp(part, "threads"))
    threads();
  else if (!strcmp(part, "bandwidth"))
    bandwidth();
  else if (!strcmp(part, "register"))
    registration();
  else
    return 2;
  return 0;
}
