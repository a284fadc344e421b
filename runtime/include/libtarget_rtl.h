/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The interface of plugins of 2013: section 5 of the proposal of the offload infrastructure. Such a
 * plugin is `libomptarget.rtl.<name>.so`, found as others are, and known by __tgt_rtl_device_type,
 * which it has, and __tgt_rtl_is_valid_binary, which it hasn't. It serves programs of libtarget.h: it
 * sees no names of entries, and programs that have names are not paired by position.
 *
 * This header settles what the document leaves open:
 *   - functions that it prints without a type return int, 0 for success;
 *   - the descriptor that __tgt_rtl_device_type returns is the machine (e_machine) of the ELF images
 *     that the plugin loads. It is asked for device 0, before devices are counted or initialised;
 *   - tgt_target_table is a range of records, one for each of the image's entries, in their order;
 *   - the plugin does not learn how many arguments there are: their table is followed by null
 *     pointers, so that the first eight words can be read whatever their number;
 *   - sizes are int: larger objects do not exist on such a device;
 *   - __tgt_init_device, which returns nothing, cannot fail;
 *   - every function may be called from several threads at once, as in the document's example. */
#ifndef LIBTARGET_RTL_H
#define LIBTARGET_RTL_H

#include "libtarget.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Addresses on the device: null for an entry that the image does not support. Owned by the plugin. */
typedef struct tgt_target_table {
  tgt_offload_entry* EntriesBegin;
  tgt_offload_entry* EntriesEnd;
} tgt_target_table;

/* All are required. */
int __tgt_rtl_device_type(int device_id);
int __tgt_rtl_number_of_devices(void);
void __tgt_init_device(int device_id); /* also accepted as __tgt_rtl_init_device */
/* NULL: failed. The bytes of the image are there during the call only. */
tgt_target_table* __tgt_rtl_load_binary(int device_id, void* target_image, int target_image_size);
void* __tgt_rtl_data_alloc(int device_id, int size); /* NULL: failed */
int __tgt_rtl_data_submit(int device_id, void* target_ptr, void* host_ptr, int size);
int __tgt_rtl_data_retrieve(int device_id, void* host_ptr, void* target_ptr, int size);
int __tgt_rtl_data_delete(int device_id, void* target_ptr);
/* target_vars_ptr: a table of device addresses, in the order of the program's arg_host_ptr. */
int __tgt_rtl_run_target_region(int device_id, void* target_entry_ptr, void* target_vars_ptr);
int __tgt_rtl_run_target_team_region(int device_id, void* target_entry_ptr, void* target_vars_ptr);

#ifdef __cplusplus
}
#endif

#endif
