// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All there is of libtarget.so: the names that programs of 2013 are linked with, each a jump to
// libomptarget.so, so that there is one runtime in a process.
#define LIBTARGET_NO_SYMVER
#include "libtarget.h"

// A function of libtarget.so, and the one of libomptarget.so that it jumps to (proposal/calls.cpp), which has a name of
// its own: a library's references to a name that it defines itself lead to itself.
#define LIBTARGET_JUMP(result, name, target, parameters, arguments)                                                    \
  result target parameters;                                                                                            \
  __attribute__((visibility("default"))) result name parameters {                                                      \
    return target arguments;                                                                                           \
  }

extern "C" {
LIBTARGET_JUMP(void, __tgt_register_lib, omptool_2013_register_lib, (tgt_bin_desc * library), (library))
LIBTARGET_JUMP(void, __tgt_unregister_lib, omptool_2013_unregister_lib, (tgt_bin_desc * library), (library))
LIBTARGET_JUMP(void, __tgt_target_data_begin, omptool_2013_data_begin,
               (int device, int count, void** host, int* sizes, tgt_map_type* types),
               (device, count, host, sizes, types))
LIBTARGET_JUMP(void, __tgt_target_data_end, omptool_2013_data_end,
               (int device, int count, void** host, int* sizes, tgt_map_type* types),
               (device, count, host, sizes, types))
LIBTARGET_JUMP(void, __tgt_target_data_update, omptool_2013_data_update,
               (int device, int count, void** host, int* sizes, tgt_map_type* types),
               (device, count, host, sizes, types))
LIBTARGET_JUMP(int, __tgt_target, omptool_2013_target,
               (int device, void* entry, int count, void** host, int* sizes, tgt_map_type* types),
               (device, entry, count, host, sizes, types))
LIBTARGET_JUMP(int, __tgt_target_teams, omptool_2013_target_teams,
               (int device, void* entry, int count, void** host, int* sizes, tgt_map_type* types, int teams,
                int threads),
               (device, entry, count, host, sizes, types, teams, threads))
LIBTARGET_JUMP(void, omp_set_default_device, omptool_2013_set_default_device, (int number), (number))
LIBTARGET_JUMP(int, omp_get_default_device, omptool_2013_get_default_device, (), ())
LIBTARGET_JUMP(int, omp_get_num_devices, omptool_2013_get_num_devices, (), ())
LIBTARGET_JUMP(int, omp_is_initial_device, omptool_2013_is_initial_device, (), ())
}
