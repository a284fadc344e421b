/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tells tools what libomptarget.so knows of its plugins. */
#ifndef OMPTOOL_PLUGINS_H
#define OMPTOOL_PLUGINS_H

#include "omptarget_rtl.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls row once for each plugin that a program started now would find, in name order:
 *   state    "ready", "refused" or "no devices"
 *   reason   one line, or NULL when ready
 *   devices  how many devices it has; 0 unless ready
 * Before them once for each folder of OMPTOOL_PLUGIN_PATH that cannot be read: name is "OMPTOOL_PLUGIN_PATH", path the
 * folder, state "refused". The strings live until row returns. Opens the plugins and asks each for its devices, but
 * initialises none. Returns the number of plugins. */
int32_t omptool_describe_plugins(void (*row)(void* context, const char* name, const char* path, const char* state,
                                             const char* reason, int32_t devices),
                                 void* context);

/* Calls row once for each device of each plugin that is ready and describes its devices, in name order; device is the
 * plugin's own number for it. The texts and the record live until row returns. Returns how often. */
int32_t omptool_describe_devices(void (*row)(void* context, const char* plugin, int32_t device,
                                             const tgt_device_description* description),
                                 void* context);

/* Calls row once for each of these plugins, in name order, and opens none: one that ends its process when it is opened
 * or asked can be told by what becomes of a process that asks it alone (OMPTOOL_PLUGINS). Returns their number. */
int32_t omptool_list_plugins(void (*row)(void* context, const char* name, const char* path), void* context);

/* Calls row once for each plugin, in name order: whether it accepts an image of these bytes, for a
 * program whose entries have names or, as those of libtarget.h, have none; and what it says why not (" (reason)", or ""
 * if it says nothing). Nothing is loaded. Returns how many accept it. */
int32_t omptool_try_image(const void* image, uint64_t size, int32_t has_names,
                          void (*row)(void* context, const char* name, int32_t accepts, const char* reason),
                          void* context);

#ifdef __cplusplus
}
#endif

#endif
