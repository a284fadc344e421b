// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's libomp, found in the process when it is there; this library works without it.
#pragma once

#include <cstdint>

namespace omptool {

// Default device: stored by libomp if that is loaded, by this library otherwise.
int default_device();
void set_default_device(int number);
// Calls use this number for it.
inline constexpr std::int64_t kDefaultDevice = -1;
[[gnu::always_inline]] inline std::int64_t device_number(std::int64_t device_id) {
  return device_id == kDefaultDevice ? default_device() : device_id;
}
// Looks for libomp again, after a library was loaded that may have brought libomp with it.
void look_for_libomp_again();

// Finds a function of libomp by name, or null. Calls the dynamic linker.
void* find_in_libomp(const char* name);
template <typename Function> Function* find_in_libomp(const char* name) {
  return reinterpret_cast<Function*>(find_in_libomp(name));
}

// Waits for the tasks that `count` dependences name: omp_depend_t objects, or libomp's own records
// side by side.
void wait_for(int count, void** depend_objects);
void wait_for_infos(int count, void* infos);

} // namespace omptool
