/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   The threads of a team as OpenCL has them, and what the library stores for each team. */
#pragma once

typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
typedef short i16;
typedef unsigned char u8;

/* Kernels end up with all of it inlined, so that outlined functions are called directly: SPIR-V has no function
   pointers. */
#define LIBRARY __attribute__((always_inline, convergent))
#define INTERNAL static inline LIBRARY
/* Pointers of clang's code lead to any memory. */
#define GENERIC __attribute__((address_space(4)))
#define OF_TEAM static __attribute__((address_space(3), loader_uninitialized))
#define MOST_THREADS 1024

/* OpenCL's and SPIR-V's own functions, by LLVM's names for them. */
extern u64 _Z12get_local_idj(u32 dimension);
extern u64 _Z12get_group_idj(u32 dimension);
extern u64 _Z14get_local_sizej(u32 dimension);
extern u64 _Z14get_num_groupsj(u32 dimension);
extern i32 _Z20__spirv_SpecConstantii(i32 number, i32 value);
extern void _Z22__spirv_ControlBarrieriii(i32 scope, i32 memory_scope, i32 semantics) __attribute__((convergent));

/* Clang writes this for each kernel. Clang 22 has one more member at the end. */
typedef struct {
  u8 generic_machine, may_nest, mode;
  i32 least_threads, most_threads, least_teams, most_teams, reduction_size;
} Configuration;
enum { SPMD = 2 }; /* a bit of the mode: all threads run the whole kernel */

/* A launch lends one of these to its kernel: the first for clang 22, the other since clang 23. */
typedef struct {
  u32 count, iteration;
  GENERIC void* buffer;
} Launch22;
typedef struct {
  GENERIC void* buffer;
  GENERIC void* fallback_memory;
  u32 teams_done, memory_size;
} Launch23;

typedef GENERIC void* Address; /* the attributes of a variable are not those of what it points at */
OF_TEAM Address launch;
/* Threads that share the work of a parallel region: the team's, or 1. In a generic kernel one thread runs all of it:
   drivers for CPUs go on with wrong data where the threads of a team wait in different places. */
OF_TEAM u32 width;
/* Parallel regions around each thread, and whether all threads of its team run the innermost one. */
OF_TEAM u8 level[MOST_THREADS];
OF_TEAM u8 is_shared[MOST_THREADS];

INTERNAL u32 thread_id(void) {
  return (u32)_Z12get_local_idj(0);
}
INTERNAL u32 team_size(void) {
  return (u32)_Z14get_local_sizej(0);
}
INTERNAL u32 team_id(void) {
  return (u32)_Z12get_group_idj(0);
}
INTERNAL u32 team_count(void) {
  return (u32)_Z14get_num_groupsj(0);
}
/* The scope is the work-group; sequentially consistent for the team's and the device's memory. */
INTERNAL void wait_for_team(void) {
  _Z22__spirv_ControlBarrieriii(2, 2, 0x310);
}
INTERNAL i32 shares_region(void) {
  return is_shared[thread_id()];
}
INTERNAL u32 number_in_region(void) {
  return shares_region() ? thread_id() : 0;
}
INTERNAL u32 threads_of_region(void) {
  return shares_region() ? width : 1;
}
