/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   Loops that teams and threads share. Bounds are inclusive; steps may be negative. */
#pragma once

#include "synchronisation.h"

/* LLVM's numbers. */
enum {
  STATIC_CHUNKED = 33,
  STATIC_BALANCED_CHUNKED = 45,
  DISTRIBUTE_CHUNKED = 91,
  ALL_THREADS = 93 /* since clang 23: the threads of all teams share the loop */
};

/* Takes the first block of iterations of one part of `parts`; the next begins a stride later. With a block of 0 each
   part has one block, a multiple of `unit`. A part without iterations gets bounds that end the loop. */
#define STATIC_LOOP(SUFFIX, T, U)                                                                                      \
  INTERNAL void share_##SUFFIX(u64 block, u64 unit, u64 parts, u64 part, GENERIC i32* last, GENERIC T* lower,          \
                               GENERIC T* upper, GENERIC T* stride, T step) {                                          \
    const T end = *upper;                                                                                              \
    *last = 0;                                                                                                         \
    if (step > 0 ? end < *lower : *lower < end)                                                                        \
      return;                                                                                                          \
    const u64 count = (u64)(step > 0 ? ((U)end - (U) * lower) / (U)step : ((U) * lower - (U)end) / (U)(-step)) + 1;    \
    if (block == 0)                                                                                                    \
      block = ((count - 1) / parts / unit + 1) * unit;                                                                 \
    *last = (count - 1) / block % parts == part;                                                                       \
    *stride = (T)(block * parts) * step;                                                                               \
    if (part > (count - 1) / block) {                                                                                  \
      *lower = end + step;                                                                                             \
      return;                                                                                                          \
    }                                                                                                                  \
    *lower += (T)(block * part) * step;                                                                                \
    if (count - block * part >= block)                                                                                 \
      *upper = *lower + (T)(block - 1) * step;                                                                         \
  }                                                                                                                    \
  LIBRARY void __kmpc_for_static_init_##SUFFIX(GENERIC void* place, i32 thread, i32 schedule, GENERIC i32* last,       \
                                               GENERIC T* lower, GENERIC T* upper, GENERIC T* stride, T step,          \
                                               T chunk) {                                                              \
    /* Clang's loop goes on by the stride, up to the bound that it has itself: blocks have one iteration. */           \
    if (schedule == ALL_THREADS)                                                                                       \
      return share_##SUFFIX(1, 1, (u64)team_count() * width, (u64)team_id() * width + thread_id(), last, lower, upper, \
                            stride, step);                                                                             \
    const i32 is_chunked = (schedule == STATIC_CHUNKED || schedule == STATIC_BALANCED_CHUNKED) && chunk > 0;           \
    share_##SUFFIX(is_chunked ? (u64)chunk : 0, 1, threads_of_region(), number_in_region(), last, lower, upper,        \
                   stride, step);                                                                                      \
  }                                                                                                                    \
  LIBRARY void __kmpc_distribute_static_init_##SUFFIX(GENERIC void* place, i32 thread, i32 schedule,                   \
                                                      GENERIC i32* last, GENERIC T* lower, GENERIC T* upper,           \
                                                      GENERIC T* stride, T step, T chunk) {                            \
    const i32 is_chunked = schedule == DISTRIBUTE_CHUNKED && chunk > 0;                                                \
    /* Clang's own choice is a thread's iteration at a time. One block for each team takes fewer calls. */             \
    const i32 is_own_choice = is_chunked && (u64)chunk == team_size();                                                 \
    share_##SUFFIX(is_chunked && !is_own_choice ? (u64)chunk : 0, is_own_choice ? (u64)chunk : 1, team_count(),        \
                   team_id(), last, lower, upper, stride, step);                                                       \
  }
STATIC_LOOP(4, i32, u32)
STATIC_LOOP(4u, u32, u32)
STATIC_LOOP(8, i64, u64)
STATIC_LOOP(8u, u64, u64)
LIBRARY void __kmpc_for_static_fini(GENERIC void* place, i32 thread) {}
LIBRARY void __kmpc_distribute_static_fini(GENERIC void* place, i32 thread) {}

/* Loops whose threads ask for more. Those of a team share a count; a thread alone takes all of it at once. */
typedef struct {
  i64 lower, upper, step;
} Bounds;
OF_TEAM Bounds shared_loop;
OF_TEAM i64 chunk_of_loop, taken_of_loop;
OF_TEAM Bounds own_loop[MOST_THREADS]; /* a step of 0: it has been taken */

#define DYNAMIC_LOOP(SUFFIX, T)                                                                                        \
  LIBRARY void __kmpc_dispatch_init_##SUFFIX(GENERIC void* place, i32 thread, i32 schedule, T lower, T upper, T step,  \
                                             T chunk) {                                                                \
    const Bounds bounds = {(i64)lower, (i64)upper, (i64)step};                                                         \
    if (!shares_region()) {                                                                                            \
      own_loop[thread_id()] = bounds;                                                                                  \
      return;                                                                                                          \
    }                                                                                                                  \
    wait_for_team();                                                                                                   \
    if (thread_id() == 0) {                                                                                            \
      shared_loop = bounds;                                                                                            \
      chunk_of_loop = chunk > 0 ? (i64)chunk : 1;                                                                      \
      taken_of_loop = 0;                                                                                               \
    }                                                                                                                  \
    wait_for_team();                                                                                                   \
  }                                                                                                                    \
  LIBRARY i32 __kmpc_dispatch_next_##SUFFIX(GENERIC void* place, i32 thread, GENERIC i32* last, GENERIC T* lower,      \
                                            GENERIC T* upper, GENERIC T* stride) {                                     \
    const Bounds bounds = shares_region() ? shared_loop : own_loop[thread_id()];                                       \
    const T first = (T)bounds.lower, end = (T)bounds.upper, step = (T)bounds.step;                                     \
    if (step == 0 || (step > 0 ? end < first : first < end))                                                           \
      return 0;                                                                                                        \
    const u64 count = (u64)(step > 0 ? (u64)end - (u64)first : (u64)first - (u64)end) /                                \
                          (u64)(step > 0 ? bounds.step : -bounds.step) +                                               \
                      1;                                                                                               \
    u64 at = 0, own = count;                                                                                           \
    if (shares_region()) {                                                                                             \
      own = (u64)chunk_of_loop;                                                                                        \
      at = (u64)__atomic_fetch_add(&taken_of_loop, (i64)own, __ATOMIC_RELAXED);                                        \
      if (at >= count)                                                                                                 \
        return 0;                                                                                                      \
      own = count - at < own ? count - at : own;                                                                       \
    } else {                                                                                                           \
      own_loop[thread_id()].step = 0;                                                                                  \
    }                                                                                                                  \
    *last = at + own == count;                                                                                         \
    *lower = first + (T)at * step;                                                                                     \
    *upper = *lower + (T)(own - 1) * step;                                                                             \
    *stride = step;                                                                                                    \
    return 1;                                                                                                          \
  }                                                                                                                    \
  LIBRARY void __kmpc_dispatch_fini_##SUFFIX(GENERIC void* place, i32 thread) {}
DYNAMIC_LOOP(4, i32)
DYNAMIC_LOOP(4u, u32)
DYNAMIC_LOOP(8, i64)
DYNAMIC_LOOP(8u, u64)
LIBRARY void __kmpc_dispatch_deinit(GENERIC void* place, i32 thread) {}
