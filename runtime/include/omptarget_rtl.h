/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The interface of a plugin: `libomptarget.rtl.<name>.so`, beside libomptarget.so or in a folder of
 * OMPTOOL_PLUGIN_PATH. Exactly the C functions of the document "Target RTL interface"; a plugin that
 * lacks one of the ten required ones is refused and named. The nine asynchronous ones are there together or
 * not at all. Every function returns 0 for success unless it says otherwise, and may be called from several
 * threads at once. */
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
/* 0: __tgt_rtl_last_error may say why. Negative: the plugin cannot have the devices that the user asked for. The
 * runtime refuses it and prints the reason; under OMP_TARGET_OFFLOAD=MANDATORY no region runs then. */
int32_t __tgt_rtl_number_of_devices(void);
/* Non-zero: a device of this plugin can load it. All plugins that accept an image give their devices to the program. A
 * device that cannot load it fails in __tgt_rtl_load_binary. */
int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image);
int32_t __tgt_init_device(int32_t device_id); /* also accepted as __tgt_rtl_init_device */
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
/* A copy, a function that queues an operation, __tgt_rtl_wait_event and __tgt_rtl_query_event may return this when the
 * device is lost for good: nothing more is asked of it. Regions run on the host, unless the device has what they need.
 */
enum { OMPTARGET_RTL_DEVICE_LOST = 3 };
int32_t __tgt_rtl_run_target_region(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr, int32_t arg_num);
int32_t __tgt_rtl_run_target_team_region(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                         int32_t arg_num, int32_t num_teams, int32_t thread_limit);

/* The asynchronous functions (device-rtl-interface.tex, "Target RTL asynchronous interface"). All nine, or none: a
 * plugin that has some of them is used through its synchronous functions, and a line names those that are missing.
 * Fallback: the core makes synchronous calls, on a thread of its own where the program's call is asynchronous.
 *
 * An operation is what one of the five __tgt_rtl_async_* functions asks for. The function returns before the operation
 * has completed, or after; it does not wait for other operations. The rules for all five:
 *
 *   arguments    dep_events and target_vars_ptr are read before the call returns. The bytes of a copy are read and
 *                written when the operation runs: the caller keeps both sides until it has completed.
 *   dependences  num_dep_events entries of dep_events, each an event of this plugin that is not released yet, of any
 *                device for which __tgt_rtl_enforce_dep says so, or NULL for none. The operation starts when all of
 *                them have completed. dep_events may be NULL when num_dep_events is 0.
 *   streams      The operations of a stream run one after another, in the order of the calls, without overlapping. The
 *                first entry names the stream: the operation joins that of its event, and runs after everything that
 *                the stream got before, which may be more than the event. Where the first entry is NULL, or there is
 *                none, a new stream begins. The other entries are dependences and nothing more. A device without
 *                streams need only observe the dependences, and the order in a stream.
 *   events       Each call that returns 0 stores a new event in *completion_event, which is never NULL. It is valid
 *                until __tgt_rtl_release_dep.
 *   several      Operations of different streams may overlap. As many of those whose dependences have completed run at
 *                once as the device can hold, since a kernel may wait for others. The host plugin holds
 *                OMPTOOL_HOST_IN_FLIGHT.
 *   failures     A call that does not return 0 has queued nothing and has made no event. __tgt_rtl_last_error says why.
 *                A run function may return OMPTARGET_RTL_NOT_STARTED, as the synchronous ones. An operation that
 *                fails later completes all the same: its event says so in __tgt_rtl_wait_event and
 *                __tgt_rtl_query_event. Operations that depend on it fail too, without running. Operations that
 *                merely come behind it in its stream may fail. An event that is released, or that the plugin never
 *                made, is an error of the call where that is cheap to find out.
 *   threads      Events may be passed to any function on any thread.
 *   fork         In a child of fork() every event counts as released, and every device as new. Where a driver does not
 *                work there, no device of its can be initialised, and __tgt_rtl_last_error says so.
 *   exit         The process may end while operations run, as far as the device's driver lets it.
 *
 * The document writes tgt_sync_event_t once: it is tgt_event_t. */

/* Names the function that gets the completion event of each operation once, whether the operation failed or not, unless
 * the event was released before. The core calls this once, before any operation; NULL ends it. The function does no
 * more than take note: it may be called on any thread, with the plugin's locks held, and before the call that made the
 * event has returned, and it does not call the plugin. Without it, nothing is called back. */
void __tgt_rtl_init_dep(tgt_callback_fct completion_callback);
/* Non-zero when operations of to_device_id may have this event of from_device_id among their dependences. 0: the core
 * waits for it before it queues them. */
int32_t __tgt_rtl_enforce_dep(int32_t from_device_id, int32_t to_device_id, tgt_event_t completion_event);
/* Ends the event. Its operation need not have completed: it goes on, and what depends on it still runs after it. When
 * this has returned, the event is not called back any more. */
void __tgt_rtl_release_dep(tgt_event_t completion_event);
/* Takes completed events to the callback, and operations on, as far as that goes without waiting. Non-zero: the plugin
 * makes progress in this call only, so the core calls it again until it has what it waits for. 0: the plugin gets on by
 * itself. */
int32_t __tgt_rtl_process_dep(void);

/* Does nothing: joins its dependences in one event. */
int32_t __tgt_rtl_async_dep(int32_t device_id, int32_t num_dep_events, tgt_event_t* dep_events,
                            tgt_event_t* completion_event);
int32_t __tgt_rtl_async_data_submit(int32_t device_id, void* target_ptr, void* host_ptr, int64_t size,
                                    int32_t num_dep_events, tgt_event_t* dep_events, tgt_event_t* completion_event);
int32_t __tgt_rtl_async_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr, int64_t size,
                                      int32_t num_dep_events, tgt_event_t* dep_events, tgt_event_t* completion_event);
int32_t __tgt_rtl_async_run_target_region(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                          int32_t arg_num, int32_t num_dep_events, tgt_event_t* dep_events,
                                          tgt_event_t* completion_event);
int32_t __tgt_rtl_async_run_target_team_region(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                               int32_t arg_num, int32_t num_teams, int32_t thread_limit,
                                               int32_t num_dep_events, tgt_event_t* dep_events,
                                               tgt_event_t* completion_event);

/* Optional beside the nine. */

/* Waits until the event's operation has completed. 0: it did what it should. Else: it failed, or the event is none of
 * this plugin's; __tgt_rtl_last_error says why. Fallback: the core waits for the callback, and calls
 * __tgt_rtl_process_dep until it comes where that asks for it; an operation that was called back is then a good one. */
int32_t __tgt_rtl_wait_event(tgt_event_t completion_event);
/* The same without waiting: OMPTARGET_RTL_PENDING while the operation has not completed. Fallback: the callback. */
enum { OMPTARGET_RTL_PENDING = -1 };
int32_t __tgt_rtl_query_event(tgt_event_t completion_event);
/* Non-zero when the plugin knows when the operation of an event ran, which has completed. Stores when that began and
 * ended, in nanoseconds of this process's CLOCK_MONOTONIC. Asked where somebody observes what runs. Fallback: the
 * operation began when it was asked for, or the one before it in its queue had ended; it ended with its callback. */
int32_t __tgt_rtl_event_times(tgt_event_t completion_event, uint64_t* began, uint64_t* ended);
/* Non-zero when the core shall use the asynchronous functions for this device. Fallback: it does. A plugin whose
 * synchronous functions do the work on the calling thread anyway is faster through those. */
int32_t __tgt_rtl_prefers_queues(int32_t device_id);
/* Non-zero when the calling thread is in a kernel, which the plugin has called on that thread. Asked when the process
 * exits: a kernel of a CPU can call exit(), and must not wait for itself then. Fallback: it is not. */
int32_t __tgt_rtl_in_kernel(void);

/* Optional: what the document leaves out. A plugin without one works as the fallback says. */

/* Non-zero when host addresses are device addresses, so that nothing is allocated or copied.
 * Fallback: a few bytes go to the device and back once; data functions that do nothing are thereby
 * recognised as those of a device that shares the host's memory. */
int32_t __tgt_rtl_shares_host_memory(int32_t device_id);

/* Non-zero when the host can use the addresses that data_alloc returns. Fallback: it cannot, and the
 * program gets no memory that is for both; of a region that has to run on the host and has an argument
 * which may be such an address, the core says so. */
int32_t __tgt_rtl_memory_is_addressable(int32_t device_id);

/* Non-zero when kernels can use all memory of the host by the host's addresses, as programs with `requires
 * unified_shared_memory` have them do. 0: the regions of such a program run on the host; last_error may say why.
 * Asked where shares_host_memory does not say so already. Fallback: they can. */
int32_t __tgt_rtl_reaches_host_memory(int32_t device_id);

/* Non-zero when data_submit and data_retrieve do no more than memmove() does on the calling thread, so
 * that the core may move the bytes by itself. Fallback: they are called. */
int32_t __tgt_rtl_moves_like_memmove(int32_t device_id);

/* As __tgt_rtl_load_binary, of an image some of whose entries lead to functions and virtual tables: kernels find those
 * by the host's addresses. extents has a number for each of the image record's entries: 0, or the bytes at the entry's
 * host address that lie on the device where the entry's variable, a pointer, says. It is there during the call only.
 * Fallback: __tgt_rtl_load_binary; kernels get the host's addresses as they are. */
tgt_target_table* __tgt_rtl_load_indirect(int32_t device_id, __tgt_device_image* image, const int64_t* extents);

/* Release what load_binary made for this image. Fallback: nothing, the image stays loaded. */
int32_t __tgt_rtl_unload_binary(int32_t device_id, __tgt_device_image* image);

/* One line that says why the last call on this thread failed, or NULL. Fallback: the number alone. */
const char* __tgt_rtl_last_error(void);

/* Non-zero when the last load_binary or load_indirect on this thread had the image compiled, whether that failed or
 * not. Stores when that began and ended, in nanoseconds of CLOCK_MONOTONIC. Fallback: it compiled nothing. */
int32_t __tgt_rtl_last_compilation(uint64_t* began, uint64_t* ended);

/* Optional: launches in a shape. */

/* The shape that a call asks for. A record begins with its own size: a later core's is longer, an earlier one's
 * shorter, and a field that a plugin does not find there, or does not know, is as 0. */
enum {
  OMPTARGET_SHAPE_COOPERATIVE = 1, /* the teams wait for each other: all of them run at once, or none */
  /* Among the arguments of a compiler's kernel is a word for the environment of its launch. */
  OMPTARGET_SHAPE_ENVIRONMENT_FIRST = 2,
  OMPTARGET_SHAPE_ENVIRONMENT_LAST = 4,
  /* Used where a team's own memory has no room for dynamic_memory. At most one of the two is set: */
  OMPTARGET_SHAPE_MEMORY_OR_NULL = 8,    /* the kernel does without it */
  OMPTARGET_SHAPE_MEMORY_OR_DEVICE = 16, /* it gets as much memory of the device */
  /* The kernel's one parameter is the address of an array of the arguments' addresses. The plugin makes the array, and
   * gives the kernel nothing of the rest of the shape. Only where reaches_host_memory is 0 and kernels_make_teams is
   * not: elsewhere the core makes it. */
  OMPTARGET_SHAPE_ARGUMENT_ARRAY = 32,
  /* Only where LIBOMPTARGET_INFO asks the plugin for lines about launches: they name teams and threads in three
   * dimensions, as LLVM's do since LLVM 20. No reason to refuse a launch. */
  OMPTARGET_SHAPE_NAMES_DIMENSIONS = 64,
};
typedef struct tgt_launch_shape {
  uint32_t size;           /* of this record, in bytes */
  uint32_t flags;          /* OMPTARGET_SHAPE_... */
  uint64_t trip_count;     /* iterations of the loop that the teams share; 0: not known */
  uint64_t dynamic_memory; /* bytes of each team's own memory, beside what the kernel declares */
  uint32_t teams[3];       /* the most that the program allows; [0] may be 0: the device chooses. [1] and [2] are 1 */
  uint32_t threads[3];     /* of each team, likewise                                        unless the call says more */
} tgt_launch_shape;

/* Runs a kernel in a shape, which is read before the call returns; else as __tgt_rtl_run_target_team_region. It is
 * called in its place, and in that of __tgt_rtl_run_target_region for kernels that an OpenMP compiler made: there the
 * shape is what the compiler passes, to be understood as its code for the device asks for. A plugin may return
 * OMPTARGET_RTL_NOT_STARTED for a shape that it does not know how to launch.
 * Fallback: __tgt_rtl_run_target_team_region with teams[0] and threads[0]; and for compilers' kernels
 * __tgt_rtl_run_target_region. */
int32_t __tgt_rtl_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr, int32_t arg_num,
                             const tgt_launch_shape* shape);
/* The same, asynchronous; beside the nine only. Fallback: likewise, by the asynchronous functions. */
int32_t __tgt_rtl_async_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr, int32_t arg_num,
                                   const tgt_launch_shape* shape, int32_t num_dep_events, tgt_event_t* dep_events,
                                   tgt_event_t* completion_event);

/* Non-zero when kernels that an OpenMP compiler made for this device start their teams and threads themselves, as those
 * for a CPU do: they run by __tgt_rtl_run_target_region, once. Fallback: they do not, where the plugin takes shapes. */
int32_t __tgt_rtl_kernels_make_teams(int32_t device_id);
/* Non-zero when this kernel is an exception to that: an OpenMP compiler wrote it for a device runtime, as flang does
 * for every device, and its call asks for a shape. It runs by __tgt_rtl_run_shaped or __tgt_rtl_async_run_shaped then.
 * Asked once for each kernel, with its address in the table of load_binary. Fallback: it is not. */
int32_t __tgt_rtl_takes_shape(int32_t device_id, void* target_entry_ptr);
/* Non-zero when this kernel may open parallel regions, whose threads it starts itself. Asked once for each kernel, with
 * its address in the table of load_binary. The core can then run the kernel of a task (nowait) on a thread of its own,
 * where a parallel region gets all threads: the thread of libomp's that has the task would give it one. Fallback: it
 * opens none. */
int32_t __tgt_rtl_opens_parallel(int32_t device_id, void* target_entry_ptr);

/* Optional: memory. A function that returns OMPTARGET_RTL_NOT_STARTED has done nothing, because it cannot: the fallback
 * does it. Any other result but 0 is a failure. */

/* Sets each of size bytes of device memory to value, as memset() does. Fallback: data_submit of such bytes. */
int32_t __tgt_rtl_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size);
/* The same, asynchronous; beside the nine only. Fallback: __tgt_rtl_async_data_submit of such bytes. */
int32_t __tgt_rtl_async_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size,
                                  int32_t num_dep_events, tgt_event_t* dep_events, tgt_event_t* completion_event);

/* Copies from one device of this plugin to another, or within one. The two sides do not overlap.
 * OMPTARGET_RTL_NOT_STARTED: these two cannot reach each other. Fallback: data_retrieve and data_submit, piece by
 * piece. */
int32_t __tgt_rtl_data_exchange(int32_t from_device_id, void* source_ptr, int32_t to_device_id, void* target_ptr,
                                int64_t size);
/* Rows of bytes, of which planes are made, of which there are several: the part of an array that is copied, at
 * distances of its own on each side. As tgt_launch_shape, it begins with its size. */
typedef struct tgt_rectangle {
  uint32_t size; /* of this record, in bytes */
  uint32_t reserved;
  uint64_t width; /* bytes of a row; none of the three is 0 */
  uint64_t rows;  /* of a plane */
  uint64_t planes;
  uint64_t target_row, target_plane; /* bytes from the beginning of one to that of the next */
  uint64_t source_row, source_plane;
} tgt_rectangle;
enum { OMPTARGET_RTL_HOST = -1 }; /* in place of a device's number: memory of the host */

/* Copies a rectangle from or to a device of this plugin; one of the two may be OMPTARGET_RTL_HOST. The sides do not
 * overlap. OMPTARGET_RTL_NOT_STARTED: not this one, or not between these two. Fallback: a copy for each row. */
int32_t __tgt_rtl_data_copy_rectangle(int32_t from_device_id, void* source_ptr, int32_t to_device_id, void* target_ptr,
                                      const tgt_rectangle* rectangle);

/* Memory of a kind. NULL: failed. Kernels use each by the address that is returned, the host the latter two. Both
 * functions are there, or neither is used. Fallback: data_alloc, for the latter two where memory_is_addressable. */
enum {
  OMPTARGET_MEMORY_DEVICE = 0, /* as data_alloc gives it */
  OMPTARGET_MEMORY_HOST = 1,   /* the host's, page-locked: copies from and to it are the fastest */
  OMPTARGET_MEMORY_SHARED = 2  /* where it lies changes with who uses it */
};
void* __tgt_rtl_memory_alloc(int32_t device_id, int64_t size, int32_t kind);
int32_t __tgt_rtl_memory_free(int32_t device_id, void* memory, int32_t kind);

/* Page-locks memory that the host has, so that copies from and to it are the fastest. Returns the address by which
 * kernels use it, or NULL: failed. Both functions are there, or neither is used. Fallback: nothing is locked, and
 * the address is the host's. */
void* __tgt_rtl_host_lock(int32_t device_id, void* host_ptr, int64_t size);
int32_t __tgt_rtl_host_unlock(int32_t device_id, void* host_ptr);

/* Optional: what a device is. */

/* As tgt_launch_shape, it begins with its size, which the core sets: no more may be written. 0 and "" are not known. */
typedef struct tgt_device_description {
  uint32_t size;         /* of this record, in bytes */
  uint32_t units;        /* that run teams at once: cores, multiprocessors */
  uint64_t memory;       /* bytes */
  uint64_t team_memory;  /* bytes of a team's own memory, at most */
  uint32_t threads;      /* of a team, at most */
  char architecture[28]; /* as images name it: "x86-64", "sm_90" */
  char name[64];         /* as its maker calls it */
  char driver[64];       /* what runs it, with its version: "CUDA 12.4" */
  char images[64];       /* the kinds of images that it takes: "PTX, cubin" */
  /* Of a device that another process of an MPI job has; else title and node are "", and rank is 0. */
  int32_t rank;    /* of that process in MPI_COMM_WORLD */
  char node[60];   /* the name of its machine */
  char title[128]; /* what people are shown: "rank 3 on node7, host 0: AMD EPYC 7763" */
} tgt_device_description;
/* Fills in the record; the device need not be initialised. Fallback: the plugin's name and the device's number. */
int32_t __tgt_rtl_describe_device(int32_t device_id, tgt_device_description* description);

#ifdef __cplusplus
}
#endif

#endif
