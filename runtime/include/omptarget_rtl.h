/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The interface of a plugin: `libomptarget.rtl.<name>.so`, beside libomptarget.so or in a folder of
 * OMPTOOL_PLUGIN_PATH. Exactly the C functions of the document "Target RTL interface"; a plugin that
 * lacks one of the ten required ones is refused and named. Every function returns 0 for success
 * unless it says otherwise, and may be called from several threads at once. */
#ifndef OMPTARGET_RTL_H
#define OMPTARGET_RTL_H

#include "omptarget.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device addresses of an image's entries, addr NULL where the image has no such symbol. Where all have names, as
 * the host's have, they are found by name, in any order; an image with two addresses for one name, or another size
 * than the host's, is refused. Else they are in the order of the host's table. Owned by the plugin, valid until the
 * process ends. */
typedef struct tgt_target_table {
  __tgt_offload_entry* EntriesBegin;
  __tgt_offload_entry* EntriesEnd;
} tgt_target_table;

/* Required. is_valid_binary runs with registration held up: it looks at the bytes and loads nothing.
 * number_of_devices and load_binary run without a lock of the core's, so threads that come first at
 * once may each call them; one answer counts, and the other images are unloaded.
 * The bytes of an image are there during is_valid_binary and load_binary only, the image record and
 * the entry table that it names until unload_binary. */
int32_t __tgt_rtl_number_of_devices(void);
int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image); /* non-zero: this plugin can load it */
int32_t __tgt_init_device(int32_t device_id);                 /* also accepted as __tgt_rtl_init_device */
tgt_target_table* __tgt_rtl_load_binary(int32_t device_id, __tgt_device_image* image); /* NULL: failed */
void* __tgt_rtl_data_alloc(int32_t device_id, int64_t size);                           /* NULL: failed */
int32_t __tgt_rtl_data_submit(int32_t device_id, void* target_ptr, void* host_ptr, int64_t size);
int32_t __tgt_rtl_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr, int64_t size);
int32_t __tgt_rtl_data_delete(int32_t device_id, void* target_ptr); /* a failure is said, and the program goes on */
/* target_vars_ptr: arg_num device addresses or values, one per kernel argument. num_teams and thread_limit are the most
 * that the program allows; 0: the device chooses, and they are never negative. The second function also runs
 * constructors and destructors of device variables, with one team of one thread. A kernel that fails may have begun:
 * the program ends. Where it certainly has not (too many threads, too much shared memory), return
 * OMPTARGET_RTL_NOT_STARTED: the region runs on the host. */
enum { OMPTARGET_RTL_NOT_STARTED = 2 };
int32_t __tgt_rtl_run_target_region(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr, int32_t arg_num);
int32_t __tgt_rtl_run_target_team_region(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                         int32_t arg_num, int32_t num_teams, int32_t thread_limit);

/* Optional: what the document leaves out. A plugin without one works as the fallback says. */

/* Non-zero when host addresses are device addresses, so that nothing is allocated or copied.
 * Fallback: a few bytes go to the device and back once; data functions that do nothing are thereby
 * recognised as those of a device that shares the host's memory. */
int32_t __tgt_rtl_shares_host_memory(int32_t device_id);

/* Non-zero when the host can use the addresses that data_alloc returns. Fallback: it cannot, and the
 * program gets no memory that is for both; of a region that has to run on the host and has an argument
 * which may be such an address, the core says so. */
int32_t __tgt_rtl_memory_is_addressable(int32_t device_id);

/* Non-zero when data_submit and data_retrieve do no more than memmove() does on the calling thread, so
 * that the core may move the bytes by itself. Fallback: they are called. */
int32_t __tgt_rtl_moves_like_memmove(int32_t device_id);

/* Release what load_binary made for this image. Fallback: nothing, the image stays loaded. */
int32_t __tgt_rtl_unload_binary(int32_t device_id, __tgt_device_image* image);

/* One line that says why the last call on this thread failed, or NULL. Fallback: the number alone. */
const char* __tgt_rtl_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
