/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How a device image for the CPU learns which team and thread it runs as.
 *
 * The plugin calls a kernel once for each (team, thread). An image that wants to know which one a
 * call is exports a pointer-sized variable
 *
 *     const struct omptool_thread_state *(*__omptool_thread_state)(void);
 *
 * into which the plugin stores a function when it loads the image, before any kernel runs. The
 * function returns the calling thread's state, which does not change while the kernel call lasts;
 * outside of one it describes a single thread of a single team. */
#ifndef OMPTOOL_THREAD_STATE_H
#define OMPTOOL_THREAD_STATE_H

#include <stdint.h>

struct omptool_thread_state {
  int32_t team_num;
  int32_t num_teams;
  int32_t thread_num;
  int32_t num_threads; /* in each team */
  int32_t device_num;  /* the plugin's own numbering: 0 for its first device */
};

#define OMPTOOL_THREAD_STATE_SYMBOL "__omptool_thread_state"

#endif
