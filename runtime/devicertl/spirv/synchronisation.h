/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   Barriers, critical regions, and regions for one thread. */
#pragma once

#include "team.h"

LIBRARY void __kmpc_barrier(GENERIC void* place, i32 thread) {
  if (shares_region())
    wait_for_team();
}
LIBRARY void __kmpc_barrier_simple_spmd(GENERIC void* place, i32 thread) {
  wait_for_team();
}
LIBRARY void __kmpc_flush(GENERIC void* place) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Clang lets one thread of a team after the other enter a critical region, by a loop of its own over the team. */
LIBRARY u64 __kmpc_warp_active_thread_mask(void) {
  return ~(u64)0;
}
LIBRARY void __kmpc_syncwarp(u64 mask) {}
LIBRARY void __kmpc_critical(GENERIC void* place, i32 thread, GENERIC i32* lock) {
  while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
    ;
}
LIBRARY void __kmpc_end_critical(GENERIC void* place, i32 thread, GENERIC i32* lock) {
  __atomic_exchange_n(lock, 0, __ATOMIC_RELEASE); /* LLVM makes plain stores of atomic ones for SPIR-V */
}

LIBRARY i32 __kmpc_single(GENERIC void* place, i32 thread) {
  return number_in_region() == 0;
}
LIBRARY void __kmpc_end_single(GENERIC void* place, i32 thread) {}
LIBRARY i32 __kmpc_master(GENERIC void* place, i32 thread) {
  return number_in_region() == 0;
}
LIBRARY void __kmpc_end_master(GENERIC void* place, i32 thread) {}
LIBRARY i32 __kmpc_masked(GENERIC void* place, i32 thread, i32 filter) {
  return (i32)number_in_region() == filter;
}
LIBRARY void __kmpc_end_masked(GENERIC void* place, i32 thread) {}
