// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All there is of libtarget.so: the names that programs of 2013 are linked with, each a jump to
// libomptarget.so, so that there is one runtime in a process.
#define LIBTARGET_NO_SYMVER
#include "libtarget.h"

#include "abi/proposal/calls.h"

#define LIBTARGET_EXPORT __attribute__((visibility("default")))

extern "C" {

LIBTARGET_EXPORT void __tgt_register_lib(tgt_bin_desc* desc) {
  omptool_2013_register_lib(desc);
}
LIBTARGET_EXPORT void __tgt_unregister_lib(tgt_bin_desc* desc) {
  omptool_2013_unregister_lib(desc);
}

LIBTARGET_EXPORT void __tgt_target_data_begin(int device_id, int arg_num, void** arg_host_ptr, int* arg_size,
                                              tgt_map_type* arg_types) {
  omptool_2013_data_begin(device_id, arg_num, arg_host_ptr, arg_size, arg_types);
}
LIBTARGET_EXPORT void __tgt_target_data_end(int device_id, int arg_num, void** arg_host_ptr, int* arg_size,
                                            tgt_map_type* arg_types) {
  omptool_2013_data_end(device_id, arg_num, arg_host_ptr, arg_size, arg_types);
}
LIBTARGET_EXPORT void __tgt_target_data_update(int device_id, int arg_num, void** arg_host_ptr, int* arg_size,
                                               tgt_map_type* arg_types) {
  omptool_2013_data_update(device_id, arg_num, arg_host_ptr, arg_size, arg_types);
}

LIBTARGET_EXPORT int __tgt_target(int device_id, void* host_address, int arg_num, void** arg_host_ptr, int* arg_size,
                                  tgt_map_type* arg_types) {
  return omptool_2013_target(device_id, host_address, arg_num, arg_host_ptr, arg_size, arg_types);
}
LIBTARGET_EXPORT int __tgt_target_teams(int device_id, void* host_address, int arg_num, void** arg_host_ptr,
                                        int* arg_size, tgt_map_type* arg_types, int num_teams, int thread_limit) {
  return omptool_2013_target_teams(device_id, host_address, arg_num, arg_host_ptr, arg_size, arg_types, num_teams,
                                   thread_limit);
}

LIBTARGET_EXPORT void omp_set_default_device(int device_num) {
  omptool_2013_set_default_device(device_num);
}
LIBTARGET_EXPORT int omp_get_default_device() {
  return omptool_2013_get_default_device();
}
LIBTARGET_EXPORT int omp_get_num_devices() {
  return omptool_2013_get_num_devices();
}
LIBTARGET_EXPORT int omp_is_initial_device() {
  return omptool_2013_is_initial_device();
}
}
