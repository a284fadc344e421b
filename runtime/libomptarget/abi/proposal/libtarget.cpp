// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All there is of libtarget.so: the names that programs of 2013 are linked with, each a jump to
// libomptarget.so, so that there is one runtime in a process.
#define LIBTARGET_NO_SYMVER
#include "libtarget.h"

#define LIBTARGET_EXPORT __attribute__((visibility("default")))

extern "C" {

// What libomptarget.so does for each (proposal/calls.cpp). Those have names of their own because a library's references
// to a name that it defines itself lead to itself.
decltype(__tgt_register_lib) omptool_2013_register_lib;
decltype(__tgt_unregister_lib) omptool_2013_unregister_lib;
decltype(__tgt_target_data_begin) omptool_2013_data_begin;
decltype(__tgt_target_data_end) omptool_2013_data_end;
decltype(__tgt_target_data_update) omptool_2013_data_update;
decltype(__tgt_target) omptool_2013_target;
decltype(__tgt_target_teams) omptool_2013_target_teams;
decltype(omp_set_default_device) omptool_2013_set_default_device;
decltype(omp_get_default_device) omptool_2013_get_default_device;
decltype(omp_get_num_devices) omptool_2013_get_num_devices;
decltype(omp_is_initial_device) omptool_2013_is_initial_device;

LIBTARGET_EXPORT void __tgt_register_lib(tgt_bin_desc* descriptor) {
  omptool_2013_register_lib(descriptor);
}
LIBTARGET_EXPORT void __tgt_unregister_lib(tgt_bin_desc* descriptor) {
  omptool_2013_unregister_lib(descriptor);
}
LIBTARGET_EXPORT void __tgt_target_data_begin(int device, int count, void** host, int* sizes, tgt_map_type* types) {
  omptool_2013_data_begin(device, count, host, sizes, types);
}
LIBTARGET_EXPORT void __tgt_target_data_end(int device, int count, void** host, int* sizes, tgt_map_type* types) {
  omptool_2013_data_end(device, count, host, sizes, types);
}
LIBTARGET_EXPORT void __tgt_target_data_update(int device, int count, void** host, int* sizes, tgt_map_type* types) {
  omptool_2013_data_update(device, count, host, sizes, types);
}
LIBTARGET_EXPORT int __tgt_target(int device, void* entry, int count, void** host, int* sizes, tgt_map_type* types) {
  return omptool_2013_target(device, entry, count, host, sizes, types);
}
LIBTARGET_EXPORT int __tgt_target_teams(int device, void* entry, int count, void** host, int* sizes,
                                        tgt_map_type* types, int teams, int threads) {
  return omptool_2013_target_teams(device, entry, count, host, sizes, types, teams, threads);
}
LIBTARGET_EXPORT void omp_set_default_device(int number) {
  omptool_2013_set_default_device(number);
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
