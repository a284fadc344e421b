// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/libomp.h"

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <vector>

namespace omptool {
namespace {

// kmp_depend_info; an omp_depend_t points to one.
struct DependInfo {
  std::intptr_t base;
  std::size_t size;
  std::uint8_t flags;
};
static_assert(sizeof(DependInfo) == 24);

using ThreadNumber = std::int32_t(void* location);
using WaitDeps = void(void* location, std::int32_t thread, std::int32_t count, DependInfo* infos, std::int32_t, void*);

// LLVM's own runtime passes this where there is no source location.
struct Location {
  std::int32_t reserved1 = 0, flags = 2, reserved2 = 0, reserved3 = 0;
  const char* source = ";unknown;unknown;0;0;;";
};

} // namespace

// A library that the program opens has a libomp that nobody else sees, and this one, if it was preloaded,
// neither.
void* find_in_libomp(const char* name) {
  if (void* const found = ::dlsym(RTLD_DEFAULT, name))
    return found;
  for (const char* const file : {"libomp.so.5", "libomp.so", "libiomp5.so"})
    if (void* const handle = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD)) // never closed: the function stays in use
      return ::dlsym(handle, name);
  return nullptr;
}

void wait_for_infos(int count, void* infos) {
  if (count <= 0 || !infos)
    return;
  auto* const thread_number = reinterpret_cast<ThreadNumber*>(find_in_libomp("__kmpc_global_thread_num"));
  auto* const wait = reinterpret_cast<WaitDeps*>(find_in_libomp("__kmpc_omp_wait_deps"));
  Location here;
  if (thread_number && wait) // without libomp there are no tasks
    wait(&here, thread_number(&here), count, static_cast<DependInfo*>(infos), 0, nullptr);
}

void wait_for(int count, void** depend_objects) {
  std::vector<DependInfo> infos;
  for (int i = 0; depend_objects && i < count; ++i)
    if (depend_objects[i])
      infos.push_back(*static_cast<const DependInfo*>(depend_objects[i]));
  wait_for_infos(static_cast<int>(infos.size()), infos.data());
}

} // namespace omptool
