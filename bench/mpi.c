/* Times regions on the devices of MPI's workers; bench/mpi.py compiles, runs and compares.
 *
 * Usage: mpi beside PLUGIN MIB RUNS | held PLUGIN MILLISECONDS RUNS | naps PLUGIN MILLISECONDS RUNS
 *
 * beside: of two processes, each with a worker. The second only answers messages of MPI's own.
 * held: round trips, where each takes that long (OMPTOOL_MPI_HOLD is half of it).
 * naps: kernels that sleep, four on each device, one after the other.
 *
 * Prints lines of "name figure": seconds, round trips or numbers of messages. */
#define _GNU_SOURCE
#include "../tests/programs/mpi/any_mpi.h"

#include <dlfcn.h>
#include <omptarget.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SMALL = 64, BATCH = 1000, MANY = 64, TAG = 7 };

static void add_one(char* bytes) {
  ++bytes[0];
}
OMPTARGET_KERNEL(add_one);
static void nap(intptr_t microseconds) {
  (void)microseconds;
}
OMPTARGET_KERNEL(nap);

static double of_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static double now(void) {
  return of_clock(CLOCK_MONOTONIC);
}

static void fail(const char* what) {
  fprintf(stderr, "bench/mpi: %s\n", what);
  exit(1);
}

/* Keeps the smaller one; a negative one is none. */
static void keep(double* least, double figure) {
  if (*least < 0 || figure < *least)
    *least = figure;
}

/* ---- regions ---- */

static char bytes[BATCH][SMALL];
static const int32_t both = OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF;

static void region(void) {
  void* row[] = {bytes[0]};
  int64_t size[] = {SMALL};
  int32_t type[] = {both};
  if (__tgt_target(0, (void*)add_one, 1, row, row, size, type) != 0)
    fail("a region did not run on a worker");
}

/* `at` has SMALL bytes. NULL for `after`: it follows nothing. */
static tgt_event_t region_later(int device, char* at, tgt_event_t after) {
  void* row[] = {at};
  int64_t size[] = {SMALL};
  int32_t type[] = {both};
  tgt_event_t before[] = {after}, done = NULL;
  if (__tgt_target_async(device, (void*)add_one, 1, row, row, size, type, after != NULL, before, &done, NULL) != 0)
    fail("a region did not run on a worker");
  return done;
}

static tgt_event_t nap_later(int device, double seconds, tgt_event_t after) {
  void* value[] = {(void*)(intptr_t)(seconds * 1e6)};
  void* none[] = {NULL};
  int64_t size[] = {0};
  int32_t type[] = {OMP_TGT_MAPTYPE_PRIVATE_VAL};
  tgt_event_t before[] = {after}, done = NULL;
  if (__tgt_target_async(device, (void*)nap, 1, value, none, size, type, after != NULL, before, &done, NULL) != 0)
    fail("a region did not run on a worker");
  return done;
}

static void wait_for_all(void) {
  while (__tgt_process_dep())
    ;
}

static void release(tgt_event_t* events, int count) {
  for (int i = 0; i < count; ++i)
    __tgt_release_dep(events[i]);
}

static double regions_at_once(int devices) {
  tgt_event_t done[MANY];
  const double began = now();
  for (int device = 0; device < devices; ++device)
    done[device] = region_later(device, bytes[device], NULL);
  wait_for_all();
  const double took = now() - began;
  release(done, devices);
  return took;
}

static double chain(int length) {
  tgt_event_t done[BATCH];
  const double began = now();
  for (int i = 0; i < length; ++i)
    done[i] = region_later(0, bytes[0], i > 0 ? done[i - 1] : NULL);
  wait_for_all();
  const double took = now() - began;
  release(done, length);
  return took;
}

/* Copies of 64 bytes each to what is on the device: of one construct, and by a call for each. */
static double operations(int count) {
  void* row[BATCH];
  int64_t size[BATCH];
  int32_t type[BATCH];
  for (int i = 0; i < count; ++i) {
    row[i] = bytes[i];
    size[i] = SMALL;
    type[i] = OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FIRST_REF;
  }
  const double began = now();
  __tgt_target_data_update(0, count, row, row, size, type);
  return now() - began;
}
static double calls(int count) {
  tgt_event_t done[BATCH];
  const double began = now();
  for (int i = 0; i < count; ++i) {
    void* row[] = {bytes[i]};
    int64_t size[] = {SMALL};
    int32_t type[] = {OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FIRST_REF};
    __tgt_target_async_data_update(0, 1, row, row, size, type, 0, NULL, &done[i], NULL);
  }
  wait_for_all();
  const double took = now() - began;
  release(done, count);
  return took;
}

static void enter(int begins) {
  void* row[] = {bytes};
  int64_t size[] = {sizeof bytes};
  int32_t type[] = {both};
  (begins ? __tgt_target_data_begin : __tgt_target_data_end)(0, 1, row, row, size, type);
}

/* ---- counts ---- */

static void* plugin;
static void (*messages)(uint64_t* sent, uint64_t* received);

static void* function_of_plugin(const char* name) {
  void* const found = plugin ? dlsym(plugin, name) : NULL;
  if (!found)
    fail("the program has not opened the plugin that is named, or that is another one");
  return found;
}

static void find_plugin(const char* file) {
  plugin = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  *(void**)&messages = function_of_plugin("__tgt_rtl_mpi_messages");
}

static void alloc_and_free(void) {
  omp_target_free(omp_target_alloc(4000, 0), 0);
  omp_target_free(omp_target_alloc(1 << 20, 0), 0);
}

/* Prints the least messages of 100 times, and the most. Answers come in two messages where the worker was late. */
static void count(const char* name, void (*what)(void)) {
  const char* const ways[] = {"out", "back"};
  double least[2] = {-1, -1}, most[2] = {0, 0};
  what();
  for (int i = 0; i < 100; ++i) {
    uint64_t before[2], after[2];
    messages(&before[0], &before[1]);
    what();
    messages(&after[0], &after[1]);
    for (int way = 0; way < 2; ++way) {
      const double some = (double)(after[way] - before[way]);
      keep(&least[way], some);
      most[way] = some > most[way] ? some : most[way];
    }
  }
  for (int way = 0; way < 2; ++way)
    printf("%s-%s %.0f\n%s-%s-most %.0f\n", name, ways[way], least[way], name, ways[way], most[way]);
}

/* ---- beside MPI's own ---- */

static Handle mine;
static int status[64]; /* of any MPI */

/* The second process answers, and sleeps in between so that it keeps no core from others. */
static void answer(void) {
  for (long size = 0;;) {
    for (int is_there = 0; !is_there; MPI_Iprobe(0, TAG, mine, &is_there, status))
      nanosleep(&(struct timespec){0, 1000000}, NULL);
    MPI_Recv(&size, sizeof size, BYTE, 0, TAG, mine, status);
    if (size < 0)
      return;
    const int times = size == SMALL ? BATCH : 1;
    char* const memory = malloc((size_t)size);
    memset(memory, 1, (size_t)size);
    MPI_Send(&size, sizeof size, BYTE, 0, TAG, mine);
    for (int i = 0; i < times; ++i) {
      MPI_Recv(memory, (int)size, BYTE, 0, TAG, mine, status);
      MPI_Send(memory, SMALL, BYTE, 0, TAG, mine);
    }
    free(memory);
  }
}

/* Messages of that size out and 64 bytes back. */
static double exchange(char* memory, long size) {
  char small[SMALL];
  const int times = size == SMALL ? BATCH : 1;
  MPI_Send(&size, sizeof size, BYTE, 1, TAG, mine);
  MPI_Recv(&size, sizeof size, BYTE, 1, TAG, mine, status);
  const double began = now();
  for (int i = 0; i < times; ++i) {
    MPI_Send(memory, (int)size, BYTE, 1, TAG, mine);
    MPI_Recv(small, SMALL, BYTE, 1, TAG, mine, status);
  }
  return (now() - began) / times;
}

static double regions_in_turn(void) {
  const double began = now();
  for (int i = 0; i < BATCH; ++i)
    region();
  return (now() - began) / BATCH;
}

/* Of the processor: until the calls have returned. */
static double issuing(void) {
  tgt_event_t done[BATCH];
  const double began = of_clock(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < BATCH; ++i)
    done[i] = region_later(0, bytes[i], NULL);
  const double took = of_clock(CLOCK_THREAD_CPUTIME_ID) - began;
  wait_for_all();
  release(done, BATCH);
  return took / BATCH;
}

/* The same of the plugin's part: a copy out, an operation behind it, a copy back. */
static double issuing_by_plugin(void* there) {
  int32_t (*submit)(int32_t, void*, void*, int64_t, int32_t, tgt_event_t*, tgt_event_t*);
  int32_t (*retrieve)(int32_t, void*, void*, int64_t, int32_t, tgt_event_t*, tgt_event_t*);
  int32_t (*join)(int32_t, int32_t, tgt_event_t*, tgt_event_t*);
  int32_t (*wait)(tgt_event_t), (*release_one)(tgt_event_t);
  *(void**)&submit = function_of_plugin("__tgt_rtl_async_data_submit");
  *(void**)&retrieve = function_of_plugin("__tgt_rtl_async_data_retrieve");
  *(void**)&join = function_of_plugin("__tgt_rtl_async_dep");
  *(void**)&wait = function_of_plugin("__tgt_rtl_wait_event");
  *(void**)&release_one = function_of_plugin("__tgt_rtl_release_dep");
  tgt_event_t made[BATCH][3];
  const double began = of_clock(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < BATCH; ++i) {
    submit(0, there, bytes[i], SMALL, 0, NULL, &made[i][0]);
    join(0, 1, &made[i][0], &made[i][1]);
    retrieve(0, bytes[i], there, SMALL, 1, &made[i][1], &made[i][2]);
  }
  const double took = of_clock(CLOCK_THREAD_CPUTIME_ID) - began;
  for (int i = 0; i < BATCH; ++i) {
    wait(made[i][2]);
    for (int each = 0; each < 3; ++each)
      release_one(made[i][each]);
  }
  return took / BATCH;
}

static double copy(void* to, char* from, long size, int to_device, int from_device) {
  const double began = now();
  if (omp_target_memcpy(to, from, (size_t)size, 0, 0, to_device, from_device) != 0)
    fail("a copy failed");
  return now() - began;
}

static void beside(long size, int runs) {
  double of_mpi = -1, of_region = -1, issued = -1, by_plugin = -1;
  void* const some = omp_target_alloc(SMALL, 0);
  count("region", region);
  count("memory", alloc_and_free);
  for (int run = 0; run < runs; ++run) {
    keep(&of_mpi, exchange(bytes[0], SMALL));
    keep(&of_region, regions_in_turn());
    keep(&issued, issuing());
    keep(&by_plugin, issuing_by_plugin(some));
  }
  omp_target_free(some, 0);
  printf("pingpong %.9f\nregion %.9f\nissue %.9f\nplugin %.9f\n", of_mpi, of_region, issued, by_plugin);
  const int host = omp_get_initial_device();
  char* const memory = malloc((size_t)size);
  void* const there = omp_target_alloc((size_t)size, 0);
  memset(memory, 1, (size_t)size);
  for (int run = 0; run <= runs; ++run) { /* the first touches memory */
    const double raw = exchange(memory, size), out = copy(there, memory, size, 0, host),
                 back = copy(memory, there, size, host, 0);
    if (run > 0)
      printf("raw %.9f\nout %.9f\nback %.9f\n", raw, out, back);
  }
  omp_target_free(there, 0);
  free(memory);
}

/* ---- round trips ---- */

static void held(double round_trip, int runs) {
  const int devices = omp_get_num_devices();
  double one = -1, each = -1, many = -1, by_calls = -1, in_chain = -1;
  if (devices > MANY)
    fail("too many devices");
  for (int run = 0; run < runs; ++run) {
    double began = now();
    region();
    keep(&one, now() - began);
    keep(&each, regions_at_once(devices));
    enter(1);
    keep(&many, operations(BATCH));
    keep(&by_calls, calls(BATCH));
    keep(&in_chain, chain(10));
    enter(0);
  }
  printf("devices %d\none %.3f\neach %.3f\n", devices, one / round_trip, each / round_trip);
  printf("operations %.3f\ncalls %.3f\nchain %.3f\n", many / round_trip, by_calls / round_trip, in_chain / round_trip);
}

/* ---- kernels ---- */

static void naps(double seconds, int runs) {
  enum { LENGTH = 4 };
  const int devices = omp_get_num_devices();
  if (devices > MANY)
    fail("too many devices");
  double least = -1;
  for (int run = 0; run < runs; ++run) {
    tgt_event_t done[MANY][LENGTH];
    const double began = now();
    for (int i = 0; i < LENGTH; ++i)
      for (int device = 0; device < devices; ++device)
        done[device][i] = nap_later(device, seconds, i > 0 ? done[device][i - 1] : NULL);
    wait_for_all();
    const double took = now() - began;
    keep(&least, took);
    printf("naps %.4f\n", LENGTH * seconds / took);
    for (int device = 0; device < devices; ++device)
      release(done[device], LENGTH);
  }
  printf("devices %d\nbest %.4f\n", devices, LENGTH * seconds / least);
}

int main(int word_count, char** words) {
  mine = started(&word_count, &words);
  if (word_count != 5)
    fail("usage: mpi beside PLUGIN MIB RUNS | held PLUGIN MS RUNS | naps PLUGIN MS RUNS");
  int rank = 0;
  MPI_Comm_rank(mine, &rank);
  for (int device = 0; device < omp_get_num_devices(); ++device)
    release((tgt_event_t[]){region_later(device, bytes[device], NULL)}, 1); /* which makes it ready */
  wait_for_all();
  find_plugin(words[2]);
  const int runs = atoi(words[4]);
  const double number = atof(words[3]);
  if (rank != 0)
    answer();
  else if (strcmp(words[1], "beside") == 0) {
    beside((long)number << 20, runs);
    MPI_Send(&(long){-1}, sizeof(long), BYTE, 1, TAG, mine);
  } else if (strcmp(words[1], "held") == 0)
    held(number / 1e3, runs);
  else
    naps(number / 1e3, runs);
  MPI_Finalize();
  return 0;
}
