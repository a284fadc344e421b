/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A region with `nowait` asks this of libomp: it acts as a task that may be run again. */
#include <stdbool.h>
#include <stdint.h>

static void* handle;

int32_t __kmpc_global_thread_num(void* location) {
  (void)location;
  return 0;
}
bool __kmpc_omp_has_task_team(int32_t thread) {
  return thread == 0;
}
void** __kmpc_omp_get_target_async_handle_ptr(int32_t thread) {
  (void)thread;
  return &handle;
}
