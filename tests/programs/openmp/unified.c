/* requires unified_shared_memory: the device uses the host's memory. */
#include "check.h"

#pragma omp requires unified_shared_memory

int global = 4;
int linked = 6;
int array[10];
#pragma omp declare target to(global, array)
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

/* What has been mapped is there, where the host has it; LLVM's runtime says so since 23. */
static void presence(int* x) {
  CHECK(!omp_target_is_present(x, 0));
#ifndef ONLY_WHAT_LLVM_CAN
#pragma omp target data map(tofrom : x[0 : 10])
  {
    CHECK(omp_target_is_present(x, 0) && omp_target_is_present(&x[9], 0) && !omp_target_is_present(&x[10], 0));
    uintptr_t address = 0;
#pragma omp target map(close, alloc : x[2 : 8]) map(from : address)
    {
      address = (uintptr_t)x;
      x[3] = 40;
    }
    CHECK(address == (uintptr_t)x && x[3] == 40);
#pragma omp target map(x[5 : 15]) /* more than is there: it is the host's memory all the same */
    x[5] += 1;
  }
  CHECK(!omp_target_is_present(x, 0) && !omp_target_is_present(&x[9], 0));
#endif
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

#ifndef ONLY_WHAT_LLVM_CAN
/* A variable of the device's is never copied, whatever part of it is mapped, and stays there. */
static void variables(void) {
  CHECK(omp_target_is_present(&global, 0) && omp_target_is_present(array, 0) && !omp_target_is_present(&linked, 0));
  for (int round = 0; round < 2; ++round) {
#pragma omp target map(close, alloc : array)
    array[3] += 5;
#pragma omp target update from(array)
    CHECK(array[3] == 5 * (round + 1));
    CHECK(omp_target_is_present(array, 0) && omp_target_is_present(&array[9], 0));
  }
#pragma omp target map(close, alloc : array[2 : 8])
  array[1] = 99;
  CHECK(array[1] == 99);
#pragma omp target map(close, tofrom : global)
  global = 50;
  CHECK(global == 50 && omp_target_is_present(&global, 0));
#pragma omp target map(close, tofrom : linked)
  linked = 60;
  CHECK(linked == 60);
#pragma omp target
  {
    global += 1;
    array[9] = 1;
  }
  CHECK(global == 51 && array[9] == 1);
}
#endif

int main(void) {
  int* x = calloc(20, sizeof *x);
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
#ifndef ONLY_WHAT_LLVM_CAN
  variables();
#endif
  free(x);
  return report();
}
