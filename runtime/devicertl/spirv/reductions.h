/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   Reductions over the threads of a team, and over teams. A team is one warp of any size: values go from thread to
   thread through the team's memory, so no sub-groups are needed. */
#pragma once

#include "team.h"

OF_TEAM u64 exchanged[MOST_THREADS];

LIBRARY i32 __kmpc_get_warp_size(void) {
  return (i32)team_size();
}
LIBRARY i64 __kmpc_shuffle_int64(i64 value, i16 delta, i16 warp) {
  const u32 from = thread_id() + (u32)delta;
  exchanged[thread_id()] = (u64)value;
  wait_for_team();
  const i64 result = (i64)exchanged[from < team_size() ? from : thread_id()];
  wait_for_team();
  return result;
}
LIBRARY i32 __kmpc_shuffle_int32(i32 value, i16 delta, i16 warp) {
  return (i32)__kmpc_shuffle_int64(value, delta, warp);
}

/* Functions of clang's. The link makes their pointers generic, as clang has them private. */
typedef void (*Shuffle)(GENERIC void* values, i16 lane, i16 offset, i16 algorithm);
typedef void (*Copy)(GENERIC void* values, i32 warps);
typedef void (*Record)(GENERIC void* buffer, i32 team, GENERIC void* values);
enum { TAKES_UPPER = 1 }; /* lanes below the offset add the value `offset` above; the others replace theirs by it */

/* Returns whether the thread has the team's result in `values`. */
LIBRARY i32 __kmpc_nvptx_parallel_reduce_nowait_v2(GENERIC void* place, u64 size, GENERIC void* values, Shuffle shuffle,
                                                   Copy copy) {
  if (!shares_region())
    return 1;
  for (u32 left = width; left > 1; left = (left + 1) / 2)
    shuffle(values, (i16)thread_id(), (i16)(left / 2), TAKES_UPPER);
  return thread_id() == 0;
}

/* The team that comes last adds the records of all. Returns whether the thread has the result in `values`. */
INTERNAL i32 reduce_teams(GENERIC void* buffer, GENERIC u32* count, GENERIC void* values, Record put, Record get,
                          Record add) {
  if (thread_id() != 0)
    return 0;
  if (team_count() == 1)
    return 1;
  put(buffer, (i32)team_id(), values);
  if (__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST) != team_count() - 1)
    return 0;
  __atomic_exchange_n(count, 0, __ATOMIC_SEQ_CST); /* the next launch finds it so */
  get(buffer, 0, values);
  for (u32 team = 1; team < team_count(); ++team)
    add(buffer, (i32)team, values);
  return 1;
}
LIBRARY GENERIC void* __kmpc_reduction_get_fixed_buffer(void) {
  return ((GENERIC Launch22*)launch)->buffer;
}
LIBRARY i32 __kmpc_nvptx_teams_reduce_nowait_v2(GENERIC void* place, GENERIC void* buffer, u32 records, u64 size,
                                                GENERIC void* values, Shuffle shuffle, Copy copy, Record put,
                                                Record put_reduced, Record get, Record add) {
  return reduce_teams(buffer, &((GENERIC Launch22*)launch)->count, values, put, get, add);
}
LIBRARY i32 __kmpc_gpu_xteam_reduce_nowait(GENERIC void* place, GENERIC void* values, Shuffle shuffle, Copy copy,
                                           Record put, Record get, Record add) {
  GENERIC Launch23* const own = launch;
  return reduce_teams(own->buffer, &own->teams_done, values, put, get, add);
}
