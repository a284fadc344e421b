// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between libomptarget.so and libtarget.so: what the latter's functions do. They have names of their
// own here because a library's references to a name that it defines itself lead to itself.
#pragma once

extern "C" {
void omptool_2013_register_lib(void* descriptor);
void omptool_2013_unregister_lib(void* descriptor);
void omptool_2013_data_begin(int device, int count, void** host, int* size, const void* types);
void omptool_2013_data_end(int device, int count, void** host, int* size, const void* types);
void omptool_2013_data_update(int device, int count, void** host, int* size, const void* types);
int omptool_2013_target(int device, void* entry, int count, void** host, int* size, const void* types);
int omptool_2013_target_teams(int device, void* entry, int count, void** host, int* size, const void* types,
                              int num_teams, int thread_limit);
void omptool_2013_set_default_device(int number);
int omptool_2013_get_default_device();
int omptool_2013_get_num_devices();
int omptool_2013_is_initial_device();
}
