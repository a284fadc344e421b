/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   Kernels and parallel regions. */
#pragma once

#include "team.h"

LIBRARY i32 __kmpc_target_init(GENERIC const Configuration* kernel, GENERIC void* launch_environment) {
  const i32 is_spmd = (kernel->mode & SPMD) != 0;
  level[thread_id()] = 0;
  is_shared[thread_id()] = 0;
  if (thread_id() == 0) {
    launch = launch_environment;
    width = is_spmd ? team_size() : 1;
  }
  wait_for_team();
  return is_spmd || thread_id() == 0 ? -1 : 0; /* -1: run the kernel */
}
LIBRARY void __kmpc_target_deinit(void) {}

/* An outlined function has its thread's number, 0, and an address for each captured variable. */
typedef GENERIC i32* Number;
typedef GENERIC void* Captured;
#define C1 Captured
#define C2 C1, C1
#define C4 C2, C2
#define C8 C4, C4
#define C16 C8, C8
#define A1(i) a[i]
#define A2(i) A1(i), A1(i + 1)
#define A4(i) A2(i), A2(i + 2)
#define A8(i) A4(i), A4(i + 4)
#define A16(i) A8(i), A8(i + 8)
#define CALL(count, types, ...)                                                                                        \
  case count:                                                                                                          \
    ((void (*)(Number, Number, types))function)(number, zero, __VA_ARGS__);                                            \
    return;
#define TYPES(...) __VA_ARGS__
/* The link reports it, as nothing defines it, if a region captures more. */
extern void omptool_region_of_more_than_32_captured_variables(void);

INTERNAL void call(void (*function)(void), Number number, Number zero, GENERIC Captured* a, i64 count) {
  switch (count) {
  case 0:
    ((void (*)(Number, Number))function)(number, zero);
    return;
    CALL(1, C1, A1(0))
    CALL(2, TYPES(C2), A2(0))
    CALL(3, TYPES(C2, C1), A2(0), A1(2))
    CALL(4, TYPES(C4), A4(0))
    CALL(5, TYPES(C4, C1), A4(0), A1(4))
    CALL(6, TYPES(C4, C2), A4(0), A2(4))
    CALL(7, TYPES(C4, C2, C1), A4(0), A2(4), A1(6))
    CALL(8, TYPES(C8), A8(0))
    CALL(9, TYPES(C8, C1), A8(0), A1(8))
    CALL(10, TYPES(C8, C2), A8(0), A2(8))
    CALL(11, TYPES(C8, C2, C1), A8(0), A2(8), A1(10))
    CALL(12, TYPES(C8, C4), A8(0), A4(8))
    CALL(13, TYPES(C8, C4, C1), A8(0), A4(8), A1(12))
    CALL(14, TYPES(C8, C4, C2), A8(0), A4(8), A2(12))
    CALL(15, TYPES(C8, C4, C2, C1), A8(0), A4(8), A2(12), A1(14))
    CALL(16, TYPES(C16), A16(0))
    CALL(17, TYPES(C16, C1), A16(0), A1(16))
    CALL(18, TYPES(C16, C2), A16(0), A2(16))
    CALL(19, TYPES(C16, C2, C1), A16(0), A2(16), A1(18))
    CALL(20, TYPES(C16, C4), A16(0), A4(16))
    CALL(21, TYPES(C16, C4, C1), A16(0), A4(16), A1(20))
    CALL(22, TYPES(C16, C4, C2), A16(0), A4(16), A2(20))
    CALL(23, TYPES(C16, C4, C2, C1), A16(0), A4(16), A2(20), A1(22))
    CALL(24, TYPES(C16, C8), A16(0), A8(16))
    CALL(25, TYPES(C16, C8, C1), A16(0), A8(16), A1(24))
    CALL(26, TYPES(C16, C8, C2), A16(0), A8(16), A2(24))
    CALL(27, TYPES(C16, C8, C2, C1), A16(0), A8(16), A2(24), A1(26))
    CALL(28, TYPES(C16, C8, C4), A16(0), A8(16), A4(24))
    CALL(29, TYPES(C16, C8, C4, C1), A16(0), A8(16), A4(24), A1(28))
    CALL(30, TYPES(C16, C8, C4, C2), A16(0), A8(16), A4(24), A2(28))
    CALL(31, TYPES(C16, C8, C4, C2, C1), A16(0), A8(16), A4(24), A2(28), A1(30))
    CALL(32, TYPES(C16, C16), A16(0), A16(16))
  default:
    omptool_region_of_more_than_32_captured_variables();
  }
}

/* Runs a region by one thread, or by all: fewer could not wait for each other. The program may ask for fewer. */
LIBRARY void __kmpc_parallel_60(GENERIC void* place, i32 thread, i32 condition, i32 threads, i32 binding,
                                void (*function)(void), void (*wrapper)(void), GENERIC Captured* captured, i64 count,
                                i32 is_strict) {
  const u32 t = thread_id();
  const u8 before = is_shared[t];
  const i32 is_outer = level[t] == 0 && width > 1;
  const i32 is_for_all = is_outer && condition && (threads <= 0 || (u32)threads >= width);
  i32 number = is_for_all ? (i32)t : 0, zero = 0;
  if (!is_outer || is_for_all || t == 0) {
    level[t] += 1;
    is_shared[t] = is_for_all;
    call(function, (Number)&number, (Number)&zero, captured, count);
    level[t] -= 1;
    is_shared[t] = before;
  }
  if (is_outer)
    wait_for_team();
}
LIBRARY void __kmpc_serialized_parallel(GENERIC void* place, i32 thread) {
  level[thread_id()] += 1;
}
LIBRARY void __kmpc_end_serialized_parallel(GENERIC void* place, i32 thread) {
  level[thread_id()] -= 1;
}
LIBRARY void __kmpc_push_num_threads(GENERIC void* place, i32 thread, i32 threads) {}
/* Called by wrappers of outlined functions, which nothing calls here. */
LIBRARY void __kmpc_get_shared_variables(GENERIC void* variables) {}
