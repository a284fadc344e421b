/* Nothing is wrong here, and nothing may be found: outputs that a region writes as a whole, scratch memory of a
 * `target data`, reductions, private copies, attached pointers, padding, small equal variables, updates that follow
 * each other, and variables that the host writes, or hands to the system, behind a region. */
#include "../openmp/check.h"
#include <unistd.h>

enum { N = 5000 };

typedef struct {
  char tag;
  double value;
  short end;
} padded;

typedef struct {
  int size;
  int* items;
} list;

static void outputs(void) {
  int whole[N], sum = 0, most = 0, own[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  padded structs[10];
#pragma omp target teams distribute parallel for map(from : whole) reduction(+ : sum) reduction(max : most)
  for (int i = 0; i < N; ++i) {
    whole[i] = i;
    sum += 1;
    most = i > most ? i : most;
  }
  CHECK(sum == N && most == N - 1 && whole[N - 1] == N - 1);
#pragma omp target map(from : structs) firstprivate(own)
  for (int i = 0; i < 10; ++i) {
    own[i % 8] += 1;
    structs[i] = (padded){'x', own[i % 8], 3};
  }
  CHECK(structs[7].value == 9 && own[7] == 8);
}

/* A private copy of a variable that is mapped is none of its copies. */
static void copies(void) {
  int both[100] = {0}, sum = 0;
#pragma omp target data map(tofrom : both)
  {
    both[0] = 1;
#pragma omp target firstprivate(both) map(tofrom : sum)
    sum += both[0];
#pragma omp target update to(both)
#pragma omp target
    both[1] = both[0] + 1;
  }
  CHECK(sum == 1 && both[1] == 2);
}

static void pointers(void) {
  list one = {N, malloc(N * sizeof(int))};
  for (int i = 0; i < N; ++i)
    one.items[i] = i;
#pragma omp target data map(to : one) map(tofrom : one.items[0 : N])
  {
#pragma omp target
    one.items[one.size - 1] = 8;
#pragma omp target update from(one.items[0 : N])
    CHECK(one.items[N - 1] == 8);
    one.items[0] = 9;
#pragma omp target update to(one.items[0 : N])
#pragma omp target
    one.items[1] = one.items[0];
  }
  CHECK(one.items[1] == 9);
  free(one.items);
}

static void flags(void) {
  int level = 0, changed = 1, values[16] = {0};
#pragma omp target data map(tofrom : values)
  while (changed) {
    changed = 0;
#pragma omp target map(tofrom : changed) map(to : level)
    if (values[level] < 3) {
      ++values[level];
      changed = 1;
    }
  }
  CHECK(values[0] == 3);
}

/* A system call may write what a region has thrown away, and read what is on the device. */
static void system_calls(void) {
  static char line[64] = "0123456789";
  int ends[2];
  CHECK(pipe(ends) == 0 && write(ends[1], "abcdefghij", 10) == 10);
#pragma omp target data map(to : line)
  {
    CHECK(write(ends[1], line, 10) == 10);
    CHECK(read(ends[0], line, 10) == 10 && line[0] == 'a');
  }
  CHECK(read(ends[0], line, 10) == 10 && line[0] == '0');
  close(ends[0]);
  close(ends[1]);
}

static void asynchronous(void) {
  static int in[N], out[N];
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int time = 0; time < 3; ++time) {
#pragma omp target nowait map(to : in) map(from : out) depend(out : out)
    for (int i = 0; i < N; ++i)
      out[i] = in[i] + 1;
#pragma omp task depend(inout : out)
    out[0] += in[0];
#pragma omp taskwait
  }
  CHECK(out[0] == 1 && out[N - 1] == 1);
}

int main(void) {
  outputs();
  copies();
  pointers();
  flags();
  system_calls();
  asynchronous();
  return report();
}
