// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's libomp, found in the process when it is there; this library works without it.
#pragma once

namespace omptool {

// The function of that name, or null. Asks the dynamic linker.
void* find_in_libomp(const char* name);

// Waits for the tasks that `count` dependences name: omp_depend_t objects, or libomp's own records
// side by side.
void wait_for(int count, void** depend_objects);
void wait_for_infos(int count, void* infos);

} // namespace omptool
