// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "default_device.h"

#include "environment.h"

#include <atomic>
#include <dlfcn.h>

namespace omptool {
namespace {

struct Libomp {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
};

// libomp has routines of the same names as ours, so they are looked up in its own file, which only
// libomp's __kmpc_ calls can tell.
Libomp find_libomp() {
  Dl_info where{};
  void* const known = ::dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num");
  if (!known || !::dladdr(known, &where) || !where.dli_fname)
    return {};
  void* const handle = ::dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle)
    return {};
  // Never closed: the functions stay in use.
  return {reinterpret_cast<int (*)()>(::dlsym(handle, "omp_get_default_device")),
          reinterpret_cast<void (*)(int)>(::dlsym(handle, "omp_set_default_device"))};
}

// No lock while the linker is asked, not even that of a static: the caller may be a constructor that
// runs with the linker locked, and would wait for a thread that waits for the linker.
const Libomp& libomp() {
  static std::atomic<const Libomp*> known{nullptr};
  const Libomp* found = known.load(std::memory_order_acquire);
  if (found)
    return *found;
  const auto* const made = new Libomp(find_libomp());
  if (known.compare_exchange_strong(found, made, std::memory_order_acq_rel))
    return *made;
  delete made;
  return *found;
}

std::atomic<int>& own_default() {
  static std::atomic<int> number{environment().default_device};
  return number;
}

} // namespace

int default_device() {
  return libomp().get ? libomp().get() : own_default().load(std::memory_order_relaxed);
}

void set_default_device(int number) {
  if (libomp().set)
    libomp().set(number);
  else
    own_default().store(number, std::memory_order_relaxed);
}

} // namespace omptool
