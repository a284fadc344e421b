// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/libomp.h"

#include "process/environment.h"
#include "threads/hazard_pointers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

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

// Location that LLVM's own runtime passes if there is no source location.
struct Location {
  std::int32_t reserved1 = 0, flags = 2, reserved2 = 0, reserved3 = 0;
  const char* source = ";unknown;unknown;0;0;;";
};

// ---- the default device ----

// Addresses of libomp's own routines. Null if libomp is missing, or was not looked up yet.
constinit std::atomic<int (*)()> libomps_get{nullptr};
constinit std::atomic<void (*)(int)> libomps_set{nullptr};
constinit std::atomic<bool> has_looked{false};

// Looks up libomp's routines, in libomp's own file, because this library exports the same names. Only libomp's __kmpc_
// calls identify that file. No lock is held while the linker is called, not even that of a static: the caller may be a
// constructor that runs with the linker's lock, and would block a thread that waits for the linker.
void look_for_libomp() {
  if (has_looked.load(std::memory_order_acquire))
    return;
  Dl_info where{};
  void* const known = find_in_libomp("__kmpc_global_thread_num");
  const bool has_file = known && ::dladdr(known, &where) && where.dli_fname;
  // Never closed: the functions stay in use.
  if (void* const handle = has_file ? ::dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr) {
    libomps_set = reinterpret_cast<void (*)(int)>(::dlsym(handle, "omp_set_default_device"));
    libomps_get = reinterpret_cast<int (*)()>(::dlsym(handle, "omp_get_default_device"));
  }
  has_looked.store(true, std::memory_order_release);
}

constinit std::atomic<int> own_default{-1}; // negative: the environment's

// Set when asking is over. libomp registers every thread that calls it, and aborts if a thread does so while it ends.
// This library's exit handler runs before libomp's, stops such calls and waits for those in progress: their
// hazard pointers hold `libomps_get`, and are cleared by a release store, after the work in libomp.
constinit std::atomic<bool> asking_is_over{false};

void stop_asking() {
  constexpr int kMostWaits = 1000; // a thread of a forked child's parent would be waited for without end
  asking_is_over.store(true, std::memory_order_relaxed);
  heavy_barrier(); // the other half of ask_libomp()'s
  const auto anybody_asks = [] {
    const std::vector<const void*> used = published_items();
    return std::binary_search(used.begin(), used.end(), &libomps_get);
  };
  for (int waits = 0; anybody_asks() && waits < kMostWaits; ++waits)
    ::usleep(1000);
}

// Libomp's last answer to this thread; negative: it has given none.
thread_local constinit int last_answer [[gnu::tls_model("initial-exec")]] = -1;

// Libomp's answer; the last one once the process ends.
int ask_libomp() {
  HazardPointer& mine = my_hazard_pointer();
  mine.index.store(&libomps_get, std::memory_order_release);
  light_barrier(); // this sees that it is over, or stop_asking() sees who asks
  if (!asking_is_over.load(std::memory_order_relaxed))
    last_answer = libomps_get.load(std::memory_order_relaxed)();
  mine.index.store(nullptr, std::memory_order_release);
  return last_answer;
}

// Begins to ask libomp, at a thread's first query.
[[gnu::noinline]] int begin_to_ask() {
  static constinit std::atomic<bool> arranged{false};
  look_for_libomp();
  const int set = own_default.load(std::memory_order_relaxed);
  const int own = set < 0 ? environment().default_device : set;
  if (!libomps_get.load(std::memory_order_relaxed))
    return own;
  last_answer = own;
  const int number = ask_libomp();
  // After libomp has arranged for its own end: handlers run backwards.
  if (!arranged.load(std::memory_order_relaxed) && !arranged.exchange(true))
    std::atexit(stop_asking);
  return number;
}

} // namespace

// Finds a function in libomp: first in the global scope, then by libomp's file names, because a library that the
// program opens may have loaded a libomp outside of that scope.
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
  auto* const thread_number = find_in_libomp<ThreadNumber>("__kmpc_global_thread_num");
  auto* const wait = find_in_libomp<WaitDeps>("__kmpc_omp_wait_deps");
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

void look_for_libomp_again() {
  if (!libomps_get.load(std::memory_order_relaxed))
    has_looked.store(false, std::memory_order_release);
}

int default_device() {
  return last_answer >= 0 ? ask_libomp() : begin_to_ask();
}

void set_default_device(int number) {
  look_for_libomp();
  if (auto* const set = libomps_set.load(std::memory_order_relaxed))
    set(number);
  else
    own_default.store(number, std::memory_order_relaxed);
}

} // namespace omptool
