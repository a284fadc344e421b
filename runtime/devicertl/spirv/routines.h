/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   OpenMP's routines, and what clang's code asks of its thread. */
#pragma once

#include "team.h"

LIBRARY i32 __kmpc_global_thread_num(GENERIC void* place) {
  return (i32)number_in_region();
}
LIBRARY i32 __kmpc_get_hardware_num_threads_in_block(void) {
  return (i32)team_size();
}
LIBRARY i32 __kmpc_get_hardware_thread_id_in_block(void) {
  return (i32)thread_id();
}
LIBRARY i32 __kmpc_is_spmd_exec_mode(void) {
  return width == team_size();
}
LIBRARY i32 omp_get_thread_num(void) {
  return (i32)number_in_region();
}
LIBRARY i32 omp_get_num_threads(void) {
  return (i32)threads_of_region();
}
LIBRARY i32 omp_get_team_num(void) {
  return (i32)team_id();
}
LIBRARY i32 omp_get_num_teams(void) {
  return (i32)team_count();
}
LIBRARY i32 omp_get_max_threads(void) {
  return level[thread_id()] == 0 ? (i32)width : 1;
}
LIBRARY i32 omp_get_thread_limit(void) {
  return (i32)width;
}
LIBRARY i32 omp_get_num_procs(void) {
  return (i32)width;
}
LIBRARY i32 omp_get_level(void) {
  return level[thread_id()];
}
LIBRARY i32 omp_get_active_level(void) {
  return shares_region();
}
LIBRARY i32 omp_in_parallel(void) {
  return shares_region();
}
LIBRARY i32 omp_get_ancestor_thread_num(i32 at) {
  return at == 0 || at < level[thread_id()] ? 0 : at == level[thread_id()] ? (i32)number_in_region() : -1;
}
LIBRARY i32 omp_get_team_size(i32 at) {
  return at == 0 || at < level[thread_id()] ? 1 : at == level[thread_id()] ? (i32)threads_of_region() : -1;
}
LIBRARY i32 omp_get_dynamic(void) {
  return 0;
}
LIBRARY i32 omp_get_nested(void) {
  return 0;
}
LIBRARY i32 omp_get_max_active_levels(void) {
  return 1;
}
LIBRARY i32 omp_get_cancellation(void) {
  return 0;
}
LIBRARY i32 omp_is_initial_device(void) {
  return 0;
}
LIBRARY i32 omp_get_device_num(void) {
  return _Z20__spirv_SpecConstantii(1, 0); /* the plugin sets it before the driver compiles the image */
}
