/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The interface of 2013 that a host program calls to offload: libtarget.so as the proposal of the
 * offload infrastructure describes it in section 4. For programs that were written for it; others
 * take omptarget.h. One source includes one of the two: they share names and differ in records.
 *
 * A host program
 *   1. lists what exists on both sides, in one order on both: LIBTARGET_KERNEL(saxpy);
 *   2. calls __tgt_target with the address of the host version, and runs the host version itself when
 *      the call returns non-zero;
 *   3. is compiled to an object, given its device images by `omptool bundle --abi proposal`, and
 *      linked with -ltarget.
 *
 * This header settles what the document leaves open or prints in two ways:
 *   - entries have no names: the n-th of the host is the n-th of the image, so an image whose table has
 *     another length, or a kernel where the host has a variable, is not used;
 *   - a transfer happens as OpenMP 4.0 has it, for which the document says it is made: when a call
 *     creates or releases the device's copy, not when an enclosing construct has mapped the data;
 *   - __tgt_target is also called __tgt_target_team in one place; there is no such function;
 *   - __tgt_unregister_lib, the counterpart of __tgt_register_lib, is missing there;
 *   - -1 is the default device; other negative numbers name none. */
#ifndef LIBTARGET_H
#define LIBTARGET_H

#ifdef OMPTARGET_H
#error "libtarget.h and omptarget.h give one name to different records: include one of them"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tgt_map_type { tgt_map_alloc, tgt_map_to, tgt_map_from, tgt_map_tofrom } tgt_map_type;

/* One kernel or global variable of the host. */
typedef struct tgt_offload_entry {
  void* tgt_offload_entry_address;
  int tgt_offload_entry_size; /* bytes of a global variable; 0 for a kernel */
} tgt_offload_entry;

typedef struct tgt_device_image {
  void* ImageStart; /* first byte */
  void* ImageEnd;   /* one past the last byte */
} tgt_device_image;

/* One executable or shared library registers this. */
typedef struct __tgt_bin_desc {
  unsigned NumDevices; /* number of device images */
  tgt_device_image* DeviceImages;
  tgt_offload_entry* EntriesBegin;
  tgt_offload_entry* EntriesEnd;
} tgt_bin_desc;

/* Called by the wrapper that `omptool bundle` and `omptool emit` write. */
void __tgt_register_lib(tgt_bin_desc* desc);
void __tgt_unregister_lib(tgt_bin_desc* desc);

/* Map, unmap or copy arg_num objects; arg_size counts bytes. An update of tgt_map_tofrom copies to the
 * device, then back. */
void __tgt_target_data_begin(int device_id, int arg_num, void** arg_host_ptr, int* arg_size, tgt_map_type* arg_types);
void __tgt_target_data_end(int device_id, int arg_num, void** arg_host_ptr, int* arg_size, tgt_map_type* arg_types);
void __tgt_target_data_update(int device_id, int arg_num, void** arg_host_ptr, int* arg_size, tgt_map_type* arg_types);

/* Map, run the region whose entry has address host_address on the device addresses of the objects, in
 * their order, unmap. 0: it ran; otherwise the caller runs the host version, for which the data is ready. */
int __tgt_target(int device_id, void* host_address, int arg_num, void** arg_host_ptr, int* arg_size,
                 tgt_map_type* arg_types);
/* The same with at most num_teams teams of at most thread_limit threads; 0 leaves the number to the device. */
int __tgt_target_teams(int device_id, void* host_address, int arg_num, void** arg_host_ptr, int* arg_size,
                       tgt_map_type* arg_types, int num_teams, int thread_limit);

/* The device routines of OpenMP 4.0. */
void omp_set_default_device(int device_num);
int omp_get_default_device(void);
int omp_get_num_devices(void);
int omp_is_initial_device(void);

/* The same names mean other calls in libomptarget.so. A program may be linked with both, in any order,
 * because these are asked for by version; that asks for nothing in a source that doesn't call them. */
#if defined(__ELF__) && !defined(LIBTARGET_NO_SYMVER)
__asm__(".symver __tgt_register_lib, __tgt_register_lib@LIBTARGET_2013");
__asm__(".symver __tgt_unregister_lib, __tgt_unregister_lib@LIBTARGET_2013");
__asm__(".symver __tgt_target_data_begin, __tgt_target_data_begin@LIBTARGET_2013");
__asm__(".symver __tgt_target_data_end, __tgt_target_data_end@LIBTARGET_2013");
__asm__(".symver __tgt_target_data_update, __tgt_target_data_update@LIBTARGET_2013");
__asm__(".symver __tgt_target, __tgt_target@LIBTARGET_2013");
__asm__(".symver __tgt_target_teams, __tgt_target_teams@LIBTARGET_2013");
#endif

#ifdef __cplusplus
}
#endif

/* Entry records live in a section of their own, which the wrapper's descriptor spans. A device image
 * that is compiled from C lists its side with the same macros, in the same order. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define LIBTARGET_RETAIN , retain
#endif
#endif
#ifndef LIBTARGET_RETAIN
#define LIBTARGET_RETAIN
#endif
/* GCC writes unrelated variables in reverse unless told not to; the table follows the source. */
#if defined(__GNUC__) && !defined(__clang__)
#define LIBTARGET_IN_ORDER , no_reorder
#else
#define LIBTARGET_IN_ORDER
#endif
#define LIBTARGET_PASTE_(a, b) a##b
#define LIBTARGET_PASTE(a, b) LIBTARGET_PASTE_(a, b)

/* At file scope, in a C or C++ source; one per line of source. Order is table order. */
#define LIBTARGET_ENTRY(address, bytes)                                                                                \
  static tgt_offload_entry LIBTARGET_PASTE(libtarget_entry_, __LINE__)                                                 \
      __attribute__((section("libtarget_entries"), aligned(8), used LIBTARGET_RETAIN LIBTARGET_IN_ORDER)) = {          \
          __extension__(void*)(address), (bytes)}

/* A kernel whose host version is the function `function`; __tgt_target takes its address. */
#define LIBTARGET_KERNEL(function) LIBTARGET_ENTRY(&(function), 0)
/* A global variable that exists on every device. */
#define LIBTARGET_GLOBAL(variable) LIBTARGET_ENTRY(&(variable), (int)sizeof(variable))

#endif
