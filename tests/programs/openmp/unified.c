/* requires unified_shared_memory: the device uses the host's memory. */
#include "check.h"

#pragma omp requires unified_shared_memory

int global = 4;
int linked = 6;
#pragma omp declare target to(global)
#pragma omp declare target link(linked)

static struct {
  int n;
  int* p;
} pair;

/* `close` asks for a copy, which updates and the end of the construct move as without shared memory. */
static void close_copies(int* x) {
  uintptr_t address = 0;
  x[3] = 3;
#pragma omp target data map(close, tofrom : x[0 : 10])
  {
    CHECK(omp_target_is_present(x, 0));
    x[3] = 4;
#pragma omp target map(x[0 : 10]) map(from : address)
    {
      address = (uintptr_t)x;
      x[3] += 10;
    }
    CHECK(address != (uintptr_t)x && x[3] == 4);
#pragma omp target update from(x[3 : 1])
    CHECK(x[3] == 13);
    x[3] = 20;
#pragma omp target update to(x[0 : 10])
  }
  CHECK(x[3] == 20 && !omp_target_is_present(x, 0));
#pragma omp target map(close, tofrom : x[0 : 10]) map(from : address)
  {
    address = (uintptr_t)x;
    x[3] = 21;
  }
  CHECK(address != (uintptr_t)x && x[3] == 21);
#pragma omp target enter data map(close, to : x[0 : 10])
  x[3] = 22;
#pragma omp target exit data map(from : x[0 : 10])
  CHECK(x[3] == 21 && !omp_target_is_present(x, 0));
/* Clang 22 no longer says that the array is reached through the struct. */
#if __clang_major__ < 22 && !defined ONLY_WHAT_LLVM_CAN
  pair.p = x;
  pair.n = 1;
#pragma omp target map(close, tofrom : pair.p[0 : 10], pair.n)
  {
    pair.p[3] = 30;
    pair.n = 2;
  }
  CHECK(pair.p == x && x[3] == 30 && pair.n == 2);
#endif
}

/* Nothing is there but what has been mapped: without `close`, by omp_target_associate_ptr() alone. */
static void presence(int* x) {
  CHECK(!omp_target_is_present(x, 0));
#pragma omp target data map(tofrom : x[0 : 10])
  CHECK(!omp_target_is_present(x, 0));
  void* const there = omp_target_alloc(40, 0);
  CHECK(omp_target_associate_ptr(x, there, 40, 0, 0) == 0 && omp_target_is_present(x, 0));
  uintptr_t address = 0;
#pragma omp target map(x[0 : 10]) map(from : address)
  address = (uintptr_t)x;
  CHECK(address == (uintptr_t)there);
  CHECK(omp_target_disassociate_ptr(x, 0) == 0 && !omp_target_is_present(x, 0));
#if __clang_major__ >= 16
  CHECK(!omp_get_mapped_ptr(x, 0));
#endif
  omp_target_free(there, 0);
}

int main(void) {
  int* x = calloc(10, sizeof *x);
  int host = 1;
#pragma omp target map(from : host)
  {
    host = omp_is_initial_device();
    x[2] = 22;
    global += 1;
    linked += 1;
  }
  CHECK(!host && x[2] == 22 && global == 5 && linked == 7);
  uintptr_t address = 0;
#pragma omp target map(tofrom : x[0 : 10]) map(from : address)
  address = (uintptr_t)x;
  CHECK(address == (uintptr_t)x);
#pragma omp target data map(tofrom : x[0 : 10]) use_device_ptr(x)
  CHECK((uintptr_t)x == address);
  int own = 3;
#pragma omp target firstprivate(own) map(from : host)
  {
    own = 5;
    host = own;
  }
  CHECK(own == 3 && host == 5);
  close_copies(x);
  presence(x);
  free(x);
  return report();
}
