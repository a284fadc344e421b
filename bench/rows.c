/* Times rows of many kinds inside one process; bench/launch.py --part rows compiles, runs and compares.
 *
 * Usage: rows [LIBRARY]...
 *
 * Prints lines of "name figure": nanoseconds of one construct, structure, object, call or library, in the fastest of
 * several batches, which no other process has interrupted. LIBRARY is a shared library with a function `region`, which
 * has a target region; it is compiled from this file with -DLIBRARY. */
#ifdef LIBRARY
int region(void);
int region(void) {
  int is_done = 0;
#pragma omp target map(tofrom : is_done)
  is_done = 1;
  return is_done;
}
#else
#include "timing.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* allocated(size_t bytes) {
  void* const memory = malloc(bytes);
  if (!memory)
    exit(3);
  memset(memory, 1, bytes);
  return memory;
}

/* ---- structures with mapped parts ---- */

#define REPEAT8(M, at) M(at##0) M(at##1) M(at##2) M(at##3) M(at##4) M(at##5) M(at##6) M(at##7)
#define REPEAT128(M)                                                                                                   \
  REPEAT8(M, 0)                                                                                                        \
  REPEAT8(M, 1)                                                                                                        \
  REPEAT8(M, 2)                                                                                                        \
  REPEAT8(M, 3) REPEAT8(M, 4) REPEAT8(M, 5) REPEAT8(M, 6) REPEAT8(M, 7) REPEAT8(M, 8) REPEAT8(M, 9) REPEAT8(M, a)      \
      REPEAT8(M, b) REPEAT8(M, c) REPEAT8(M, d) REPEAT8(M, e) REPEAT8(M, f)
#define REPEAT48(M) REPEAT8(M, 0) REPEAT8(M, 1) REPEAT8(M, 2) REPEAT8(M, 3) REPEAT8(M, 4) REPEAT8(M, 5)

enum { kNodes = 3000, kLength = 8 };

struct node {
  int count;
  double* values;
};
#pragma omp declare mapper(struct node x) map(x, x.values[0 : kLength])

static struct node* nodes;

static void enter_nodes(void) {
#pragma omp target enter data map(to : nodes[0 : kNodes])
}
static void update_nodes(void) {
#pragma omp target update to(nodes[0 : kNodes])
}
static void exit_nodes(void) {
#pragma omp target exit data map(from : nodes[0 : kNodes])
}

static struct node single;

static void one_member(void) {
#pragma omp target map(tofrom : single.values[0 : kLength])
  single.values[0] += 1;
}

/* A gap after each member: they are not one range. */
static struct {
#define MEMBER(n) int m##n, gap##n;
  REPEAT48(MEMBER) int last, gap_of_last, end;
} members;

static void fifty_members(void) {
#define MAPPED(n) members.m##n,
#pragma omp target map(tofrom : REPEAT48(MAPPED) members.last, members.end)
  members.last += members.end;
}

static struct {
#define POINTER(n) double* p##n;
  REPEAT128(POINTER) int end;
} pointers;

#if __clang_major__ < 22 /* clang 22.1 crashes on more than some 40 of them */
#define MANY_POINTERS
static void pointer_members(void) {
#define POINTEE(n) pointers.p##n [0:kLength],
#pragma omp target map(tofrom : REPEAT128(POINTEE) pointers.end)
  pointers.end += 1;
}
#endif

static void many_values(void) {
#define DECLARE(n) const int v##n = members.end + 1;
  REPEAT128(DECLARE)
#define NAMED(n) v##n,
#define SUM(n) +v##n
  const int last = members.end;
#pragma omp target firstprivate(REPEAT128(NAMED) last)
  {
    volatile int use = last REPEAT128(SUM);
    (void)use;
  }
}

/* ---- sections that are not contiguous ---- */

enum { kWide = 64, kBlock = 16 };
static double table[kWide][kWide];

static void update_block(void) {
#pragma omp target update to(table[8 : kBlock][8 : kBlock])
}
static void update_strided(void) {
/* Clang 19 takes a section of one dimension for contiguous. */
#pragma omp target update to(table[8 : kBlock][8 : kBlock : 2])
}

/* ---- measuring ---- */

static double fastest_of(void (*construct)(void)) {
  const struct pacing pacing = {.warm_up = 0, .probes = 20, .batches = 15};
  return fastest(construct, pacing);
}

static void measure(const char* name, void (*construct)(void)) {
  printf("%s %.2f\n", name, fastest_of(construct));
}

/* The fastest of some trials of phases that undo each other. */
enum { kPhases = 3 };
static void phases(const char* const* names, void (*const* all)(void), double pieces, int trials) {
  double best[kPhases];
  for (int trial = 0; trial < trials; ++trial)
    for (int phase = 0; phase < kPhases; ++phase) {
      const double begin = now();
      all[phase]();
      const double took = (now() - begin) / pieces;
      best[phase] = trial == 0 || took < best[phase] ? took : best[phase];
    }
  for (int phase = 0; phase < kPhases; ++phase)
    printf("%s %.2f\n", names[phase], best[phase]);
}

static void structures(void) {
  nodes = allocated(kNodes * sizeof *nodes);
  for (int i = 0; i < kNodes; ++i)
    nodes[i].values = allocated(kLength * sizeof(double));
  static const char* const names[] = {"mapper-enter", "mapper-update", "mapper-exit"};
  static void (*const all[])(void) = {enter_nodes, update_nodes, exit_nodes};
  phases(names, all, kNodes, 2);
  single = nodes[0];
  measure("member", one_member);
#pragma omp target enter data map(to : single) map(to : single.values[0 : kLength])
  measure("member-present", one_member);
#pragma omp target exit data map(release : single.values[0 : kLength]) map(release : single)
  measure("members-50", fifty_members);
  double* const values = allocated(128 * kLength * sizeof(double));
  double** const cells = (double**)&pointers;
  for (int i = 0; i < 128; ++i)
    cells[i] = values + i * kLength;
#ifdef MANY_POINTERS
  measure("pointers-128", pointer_members);
#endif
  measure("firstprivate-128", many_values);
#pragma omp target enter data map(to : table)
  measure("block-update", update_block);
  measure("strided-update", update_strided);
#pragma omp target exit data map(release : table)
}

/* ---- scattered objects ---- */

static double** scattered;
static long scattered_count;
static int found;

static void enter_scattered(void) {
  for (long i = 0; i < scattered_count; ++i) {
    double* const x = scattered[i];
#pragma omp target enter data map(to : x[0 : kLength])
  }
}
static void find_scattered(void) {
  for (long i = 0; i < scattered_count; ++i)
    found += omp_target_is_present(scattered[i], 0);
}
static void exit_scattered(void) {
  for (long i = 0; i < scattered_count; ++i) {
    double* const x = scattered[i];
#pragma omp target exit data map(from : x[0 : kLength])
  }
}

/* Objects of 64 bytes in a random order, with gaps of random lengths. */
static void scatter(long count) {
  enum { kPlace = 320 };
  char* const memory = allocated((size_t)count * kPlace);
  scattered = allocated((size_t)count * sizeof *scattered);
  scattered_count = count;
  uint64_t state = 88172645463325252u;
  for (long i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* Marsaglia's xorshift64 */
    scattered[i] = (double*)(memory + i * kPlace + state % 32 * 8);
  }
  for (long i = count - 1; i > 0; --i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const long other = (long)(state % (uint64_t)(i + 1));
    double* const kept = scattered[i];
    scattered[i] = scattered[other], scattered[other] = kept;
  }
  char text[kPhases][64];
  static const char* const names[] = {"enter", "is-present", "exit"};
  const char* titles[kPhases];
  for (int phase = 0; phase < kPhases; ++phase) {
    snprintf(text[phase], sizeof text[phase], "scattered-%ld-%s", count, names[phase]);
    titles[phase] = text[phase];
  }
  static void (*const all[])(void) = {enter_scattered, find_scattered, exit_scattered};
  const int trials = count > 100000 ? 1 : 5;
  phases(titles, all, (double)count, trials);
  if (found != trials * count)
    exit(4);
  found = 0;
  free(scattered);
  free(memory);
}

/* ---- routines ---- */

static double associated[kLength], mapped[kLength];
static void *on_device, *volatile used;

static void associate(void) {
  omp_target_associate_ptr(associated, on_device, sizeof associated, 0, 0);
  omp_target_disassociate_ptr(associated, 0);
}
static void is_present(void) {
  found += omp_target_is_present(mapped, 0);
}
static void get_mapped(void) {
  used = omp_get_mapped_ptr(mapped, 0);
}

static void routines(void) {
  on_device = omp_target_alloc(sizeof associated, 0);
  measure("associate", associate);
  omp_target_free(on_device, 0);
#pragma omp target data map(to : mapped)
  {
    measure("is-present", is_present);
    measure("mapped-ptr", get_mapped);
  }
}

/* ---- many small launches, and the same on the host without a runtime ---- */

enum { kSmall = 64 };
static double small[kSmall];

static void small_launch(void) {
#pragma omp target map(tofrom : small)
  for (int i = 0; i < kSmall; ++i)
    small[i] = small[i] * 0.5 + 1;
}
static void small_host(void) {
#pragma omp target map(tofrom : small) if (0)
  for (int i = 0; i < kSmall; ++i)
    small[i] = small[i] * 0.5 + 1;
}

static void launches(void) {
#pragma omp target data map(tofrom : small)
  {
    const double launch = fastest_of(small_launch), host = fastest_of(small_host);
    printf("small-launch %.2f\nsmall-host %.2f\n", launch, host);
  }
}

/* ---- opened libraries ---- */

static void libraries(int count, char** paths) {
  int (*last)(void) = NULL;
  for (int i = 0; i < count; ++i) {
    void* const library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    last = library ? (int (*)(void))dlsym(library, "region") : NULL;
    if (!last)
      exit(5);
  }
  const double begin = now();
  const int is_done = last();
  printf("libraries-%d %.2f\n", count, (now() - begin) / count);
  if (!is_done)
    exit(4);
}

int main(int argc, char** argv) {
#pragma omp target
  {
  }
  structures();
  scatter(1000);
  scatter(30000);
  scatter(1000000);
  routines();
  launches();
  if (argc > 1)
    libraries(argc - 1, argv + 1);
  return 0;
}
#endif
