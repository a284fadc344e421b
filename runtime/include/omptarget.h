/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The interface that a host program calls to offload: libomptarget.so as its interface document
 * describes it (sections "synchronous interface" and "Arguments for the libomptarget.so calls").
 * For hosts written by hand or by a compiler that follows the document; C99 or C++11, any compiler.
 *
 * A host program
 *   1. lists what exists on both sides, once per name:   OMPTARGET_KERNEL(saxpy)
 *   2. calls __tgt_target or __tgt_target_teams with the address of the host version, and runs the
 *      host version itself when the call returns non-zero;
 *   3. is compiled to an object, given its device images by `omptool bundle`, and linked with
 *      -lomptarget.
 *
 * Errata of the document, settled here:
 *   - the asynchronous calls print args_maptype twice; there is one, right after args_size;
 *   - tgt_sync_event_t is tgt_event_t;
 *   - __tgt_unregister_lib, the counterpart of __tgt_register_lib, is missing there;
 *   - the registration function is called by the wrapper that omptool writes; a host never calls it. */
#ifndef OMPTARGET_H
#define OMPTARGET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row of the argument arrays asks for these. See the document's table for how rows combine. */
enum tgt_map_type {
  OMP_TGT_MAPTYPE_TO = 0x0001,          /* copy host to device when the object is created */
  OMP_TGT_MAPTYPE_FROM = 0x0002,        /* copy device to host when the object is released */
  OMP_TGT_MAPTYPE_ALWAYS = 0x0004,      /* copy whatever the reference count */
  OMP_TGT_MAPTYPE_DELETE = 0x0008,      /* release the object whatever the reference count */
  OMP_TGT_MAPTYPE_MAP_PTR = 0x0010,     /* args_base holds a pointer's address: map it and its pointee */
  OMP_TGT_MAPTYPE_FIRST_REF = 0x0020,   /* first row of this variable: counts a reference, is an argument */
  OMP_TGT_MAPTYPE_RETURN_PTR = 0x0040,  /* store the device address into args_base (use_device_ptr) */
  OMP_TGT_MAPTYPE_PRIVATE_PTR = 0x0080, /* a private copy on the device; with TO, firstprivate */
  OMP_TGT_MAPTYPE_PRIVATE_VAL = 0x0100  /* pass the value of args_base itself (is_device_ptr, scalars) */
};

/* One kernel or global variable known to the host and to each device image. */
typedef struct __tgt_offload_entry {
  void* addr;   /* host address; on the device side the device address, NULL where unsupported */
  char* name;   /* the symbol in the device image */
  int64_t size; /* bytes of a global variable; 0 for a kernel */
} __tgt_offload_entry;

/* One device image, and the host's entry table. */
typedef struct __tgt_device_image {
  void* ImageStart;                  /* first byte */
  void* ImageEnd;                    /* one past the last byte */
  __tgt_offload_entry* EntriesBegin; /* the host's table, the same in every image */
  __tgt_offload_entry* EntriesEnd;
} __tgt_device_image;

/* One executable or shared library registers this. */
typedef struct __tgt_bin_desc {
  uint32_t NumDevices;              /* number of device images */
  __tgt_device_image* DeviceImages; /* in the order of the user's triples */
  __tgt_offload_entry* EntriesBegin;
  __tgt_offload_entry* EntriesEnd;
} __tgt_bin_desc;

/* Reserved device numbers. With -2 and -3, __tgt_target runs one team of one thread; the arrays of a call with -2 and
 * the bytes of its PRIVATE_PTR|TO rows are copied, what it maps must live until it is done. */
enum {
  OMPTARGET_DEVICE_DEFAULT = -1, /* the default device */
  OMPTARGET_DEVICE_ALL = -2,     /* every device, deferred until each is first used (constructors) */
  OMPTARGET_DEVICE_USED = -3     /* every device this library has used (destructors) */
};

/* Called by the wrapper that `omptool bundle` and `omptool emit` write; a program that makes its
 * descriptor itself may call them. Unversioned, the names belong to LLVM's records, so the version
 * is named here, which asks for nothing in a source that doesn't call them. */
void __tgt_register_lib(__tgt_bin_desc* desc);
void __tgt_unregister_lib(__tgt_bin_desc* desc);
#if defined(__ELF__) && !defined(OMPTARGET_NO_SYMVER)
__asm__(".symver __tgt_register_lib, __tgt_register_lib@OMPTARGET_4.5");
__asm__(".symver __tgt_unregister_lib, __tgt_unregister_lib@OMPTARGET_4.5");
#endif

/* Map, unmap or update num_args rows on a device. A device that cannot be used is not an error:
 * the call does nothing and the target regions inside run on the host. */
void __tgt_target_data_begin(int32_t device_id, int32_t num_args, void** args_base, void** args, int64_t* args_size,
                             int32_t* args_maptype);
void __tgt_target_data_end(int32_t device_id, int32_t num_args, void** args_base, void** args, int64_t* args_size,
                           int32_t* args_maptype);
void __tgt_target_data_update(int32_t device_id, int32_t num_args, void** args_base, void** args, int64_t* args_size,
                              int32_t* args_maptype);

/* Map, run the region whose entry has address host_addr, unmap. Returns 0 when the region ran on
 * the device; otherwise the caller must run the host version, and the data is ready for it.
 * The region's arguments, in row order, are the rows with FIRST_REF, PRIVATE_PTR or PRIVATE_VAL. */
int32_t __tgt_target(int32_t device_id, void* host_addr, int32_t num_args, void** args_base, void** args,
                     int64_t* args_size, int32_t* args_maptype);
/* The same with num_teams teams of thread_limit threads; 0 leaves the number to the device. */
int32_t __tgt_target_teams(int32_t device_id, void* host_addr, int32_t num_args, void** args_base, void** args,
                           int64_t* args_size, int32_t* args_maptype, int32_t num_teams, int32_t thread_limit);

/* ---- Asynchronous calls ----
 *
 * Each does what the synchronous call of its name does, once the num_dep_events events of dep_events have happened, and
 * returns without waiting for that. The rules for all five:
 *
 * - Arguments: the arrays, dep_events among them, are read before the call returns. So are the pointer cells of MAP_PTR
 *   rows. Memory is allocated, that of private copies included, and RETURN_PTR is stored, by then too. Data is read and
 *   written when the events say so: it has to live until the call has completed, that of PRIVATE_PTR|TO included.
 * - Order: the mapping and the counting of objects follow the order of the calls, and that alone. Copies and kernels
 *   follow the events. Beside those, a call comes after what fills an object that it names, and one that gives an
 *   object up copies it back when all that uses it has ended. So two regions that map one object may overlap, and need
 *   an event between them where one uses what the other does.
 * - Events: *completion_event, unless completion_event is NULL, is the new event of the call. It is there until
 *   __tgt_release_dep, for any thread and any device; it may be released at any time, and the call goes on. NULL in
 *   dep_events is no event. With an event that has been released, or was never one, a region runs on the host (the call
 *   returns non-zero), and a data call is ignored; both say so on stderr.
 * - Completion: the event happens, and the callback is called, once: when the data is where it belongs. Data calls that
 *   cannot do what they are asked for complete, too, after their dep_events.
 * - The host: a region that cannot run on the device returns non-zero: its *completion_event is NULL, and no callback
 *   follows. The call has then waited for dep_events, and the data is ready for the host version. Once a call has
 *   returned 0, whatever fails ends the program.
 * - -2 and -3: calls for every device wait for their dep_events, and are done when they return.
 * - Exit: the program waits for what is outstanding when it exits, callbacks included.
 * - Fork: in the child, every event counts as released and as happened; what was outstanding is the parent's. */
typedef void* tgt_event_t;
typedef tgt_event_t tgt_sync_event_t; /* as the document calls it once */
typedef void* tgt_callback_param_t;
typedef void (*tgt_callback_fct)(tgt_callback_param_t param);

/* Whom to call when a call with a param that is not NULL has completed; for the calls that follow. It is called on a
 * thread of the runtime's, and may make any call. NULL: nobody, as without this. */
void __tgt_init_dep(tgt_callback_fct completion_callback);
/* Non-zero: the event of a call for the first device may be among the dep_events of one for the second, whatever their
 * kinds. 0: it may not, since one of the devices cannot be used, or the event has been released. */
int32_t __tgt_enforce_dep(int32_t from_device_id, int32_t to_device_id, tgt_event_t completion_event);
/* The program has no more use for the event. */
void __tgt_release_dep(tgt_event_t completion_event);
/* Non-zero: calls are outstanding. It waits a moment, so that a host task may call it until it is 0, or until what the
 * task waits for has been called back; it need not be called for anything to get on. Inside a callback: 0 when only
 * callbacks are left. */
int32_t __tgt_process_dep(void);

void __tgt_target_async_data_begin(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                   int64_t* args_size, int32_t* args_maptype, int32_t num_dep_events,
                                   tgt_event_t* dep_events, tgt_event_t* completion_event, tgt_callback_param_t param);
void __tgt_target_async_data_end(int32_t device_id, int32_t num_args, void** args_base, void** args, int64_t* args_size,
                                 int32_t* args_maptype, int32_t num_dep_events, tgt_event_t* dep_events,
                                 tgt_event_t* completion_event, tgt_callback_param_t param);
void __tgt_target_async_data_update(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                    int64_t* args_size, int32_t* args_maptype, int32_t num_dep_events,
                                    tgt_event_t* dep_events, tgt_event_t* completion_event, tgt_callback_param_t param);
/* 0: the region runs on the device. Otherwise the caller has to run the host version. */
int32_t __tgt_target_async(int32_t device_id, void* host_addr, int32_t num_args, void** args_base, void** args,
                           int64_t* args_size, int32_t* args_maptype, int32_t num_dep_events, tgt_event_t* dep_events,
                           tgt_event_t* completion_event, tgt_callback_param_t param);
int32_t __tgt_target_async_teams(int32_t device_id, void* host_addr, int32_t num_args, void** args_base, void** args,
                                 int64_t* args_size, int32_t* args_maptype, int32_t num_teams, int32_t thread_limit,
                                 int32_t num_dep_events, tgt_event_t* dep_events, tgt_event_t* completion_event,
                                 tgt_callback_param_t param);

/* OpenMP 4.5 device routines. */
int omp_get_num_devices(void);
int omp_get_initial_device(void);
int omp_is_initial_device(void);
int omp_get_default_device(void);
void omp_set_default_device(int device_num);
void* omp_target_alloc(size_t size, int device_num);
void omp_target_free(void* device_ptr, int device_num);
int omp_target_is_present(const void* ptr, int device_num);
int omp_target_memcpy(void* dst, const void* src, size_t length, size_t dst_offset, size_t src_offset,
                      int dst_device_num, int src_device_num);
int omp_target_memcpy_rect(void* dst, const void* src, size_t element_size, int num_dims, const size_t* volume,
                           const size_t* dst_offsets, const size_t* src_offsets, const size_t* dst_dimensions,
                           const size_t* src_dimensions, int dst_device_num, int src_device_num);
int omp_target_associate_ptr(const void* host_ptr, const void* device_ptr, size_t size, size_t device_offset,
                             int device_num);
int omp_target_disassociate_ptr(const void* ptr, int device_num);

#ifdef __cplusplus
}
#endif

/* Entry records live in a section of their own, which the wrapper's descriptor spans. `retain`
 * keeps them under --gc-sections; `omptool bundle` sets the same flag for older compilers. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define OMPTARGET_RETAIN , retain
#endif
#endif
#ifndef OMPTARGET_RETAIN
#define OMPTARGET_RETAIN
#endif
/* GCC writes unrelated variables in reverse unless told not to; the table follows the source. */
#if defined(__GNUC__) && !defined(__clang__)
#define OMPTARGET_IN_ORDER , no_reorder
#else
#define OMPTARGET_IN_ORDER
#endif
#define OMPTARGET_PASTE_(a, b) a##b
#define OMPTARGET_PASTE(a, b) OMPTARGET_PASTE_(a, b)

/* OMPTARGET_ENTRY(name, address, bytes): an entry whose device symbol is the string `name`.
 * At file scope, in a C or C++ source; one per line of source. Order is table order. */
#define OMPTARGET_ENTRY(name, address, bytes)                                                                          \
  static __tgt_offload_entry OMPTARGET_PASTE(omptarget_entry_, __LINE__)                                               \
      __attribute__((section("omptarget_entries"), aligned(8), used OMPTARGET_RETAIN OMPTARGET_IN_ORDER)) = {          \
          __extension__(void*)(address), (char*)(name), (bytes)}

/* A kernel whose host version is the function `function`; __tgt_target takes its address. */
#define OMPTARGET_KERNEL(function) OMPTARGET_ENTRY(#function, &(function), 0)
/* A global variable that exists on every device under the same name. */
#define OMPTARGET_GLOBAL(variable) OMPTARGET_ENTRY(#variable, &(variable), sizeof(variable))

#endif
