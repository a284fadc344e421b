/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tells a device image for the CPU which team and thread it runs as, and lets the threads of a team work together.
 *
 * The plugin calls a kernel once for each (team, thread). An image that wants to know which one a
 * call is exports a pointer-sized variable
 *
 *     const struct omptool_thread_state *(*__omptool_thread_state)(void);
 *
 * into which the plugin stores a function when it loads the image, before any kernel runs. The
 * function returns the calling thread's state, which does not change while the kernel call lasts;
 * outside of one it describes a single thread of a single team.
 *
 * An image with kernels whose threads wait for each other, or share memory of their team, lists them:
 *
 *     const struct omptool_team_kernel __omptool_team_kernels[];
 *
 * up to an entry without a kernel. Any of two further variables gets a function in the same way:
 *
 *     void (*__omptool_team_barrier)(void);
 *     void *(*__omptool_team_memory)(void);
 *
 * The first returns when all threads of the team have called it that have not left the kernel. The
 * second returns the team's memory: as much as the kernel asks for, aligned to 128 bytes, and not
 * initialised. A kernel that is not listed calls neither.
 *
 * An image with a device runtime (runtime/devicertl) exports
 *
 *     const int32_t __omptool_device_runtime;
 *
 * Its kernels make their threads themselves. One that has a variable <kernel>_kernel_environment, as OpenMP's compilers
 * make it for GPUs, is called once for each team. */
#ifndef OMPTOOL_THREAD_STATE_H
#define OMPTOOL_THREAD_STATE_H

#include <stdint.h>

struct omptool_thread_state {
  int32_t team_num;
  int32_t num_teams;
  int32_t thread_num;
  int32_t num_threads;  /* in each team */
  int32_t device_num;   /* the plugin's own numbering: 0 for its first device */
  int32_t thread_limit; /* the most threads that a kernel which makes them itself gives its team; 0: any number */
};

struct omptool_team_kernel {
  void* kernel;
  int64_t memory; /* bytes for each team */
};

enum { OMPTOOL_TEAM_MEMORY_ALIGNMENT = 128, OMPTOOL_TEAM_MOST_THREADS = 1024 };

#define OMPTOOL_THREAD_STATE_SYMBOL "__omptool_thread_state"
#define OMPTOOL_TEAM_KERNELS_SYMBOL "__omptool_team_kernels"
#define OMPTOOL_TEAM_BARRIER_SYMBOL "__omptool_team_barrier"
#define OMPTOOL_TEAM_MEMORY_SYMBOL "__omptool_team_memory"
#define OMPTOOL_DEVICE_RUNTIME_SYMBOL "__omptool_device_runtime"

#endif
