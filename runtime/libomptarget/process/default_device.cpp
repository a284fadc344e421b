// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/default_device.h"

#include "process/environment.h"
#include "process/libomp.h"
#include "threads/barriers.h"
#include "threads/thread_records.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace omptool {
namespace {

// libomp's own routines; null where it is not there, or nobody has looked.
constinit std::atomic<int (*)()> libomps_get{nullptr};
constinit std::atomic<void (*)(int)> libomps_set{nullptr};
constinit std::atomic<bool> has_looked{false};

// libomp has routines of the same names as ours, so they are looked up in its own file, which only
// libomp's __kmpc_ calls can tell.
// No lock while the linker is asked, not even that of a static: the caller may be a constructor that
// runs with the linker locked, and would wait for a thread that waits for the linker.
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

std::atomic<int>& own_default() {
  static std::atomic<int> number{environment().default_device};
  return number;
}

// Libomp takes in every thread that asks it, and aborts when one does while it is ending. So this
// library's exit handler, which runs before libomp's, ends the asking and waits for who is at it.
struct alignas(64) Asker { // each thread writes to its own
  std::atomic<bool> taken{true};
  std::atomic<bool> asking{false};
  int number = 0; // libomp's last answer
  Asker* next = nullptr;
};
constinit ThreadRecords<Asker> all_askers;
constinit std::atomic<bool> asking_is_over{false};

void stop_asking() {
  constexpr int kMostWaits = 1000; // a thread of a forked child's parent would be waited for without end
  asking_is_over.store(true, std::memory_order_relaxed);
  heavy_barrier(); // the other half of ask_libomp()'s
  for (Asker* one = all_askers.first(); one; one = one->next)
    for (int waits = 0; one->asking.load(std::memory_order_acquire) && waits < kMostWaits; ++waits)
      ::usleep(1000);
}

// Of this thread, while it has one: found without a call.
thread_local constinit Asker* my_asker [[gnu::tls_model("initial-exec")]] = nullptr;

Asker& make_asker() {
  struct Owner {
    Asker& own = all_askers.take();
    ~Owner() {
      my_asker = nullptr;
      ThreadRecords<Asker>::give_back(own);
    }
  };
  static thread_local const Owner owner;
  owner.own.number = own_default().load(std::memory_order_relaxed);
  return *(my_asker = &owner.own);
}

// Libomp's answer; the last one once the process ends.
int ask_libomp(Asker& asker) {
  asker.asking.store(true, std::memory_order_relaxed);
  light_barrier();
  if (!asking_is_over.load(std::memory_order_relaxed))
    asker.number = libomps_get.load(std::memory_order_relaxed)();
  asker.asking.store(false, std::memory_order_release);
  return asker.number;
}

// The first time in a thread.
[[gnu::noinline]] int begin_to_ask() {
  static constinit std::atomic<bool> arranged{false};
  look_for_libomp();
  if (!libomps_get.load(std::memory_order_relaxed))
    return own_default().load(std::memory_order_relaxed);
  const int number = ask_libomp(make_asker());
  // After libomp has arranged for its own end: handlers run backwards.
  if (!arranged.load(std::memory_order_relaxed) && !arranged.exchange(true))
    std::atexit(stop_asking);
  return number;
}

} // namespace

void look_for_libomp_again() {
  if (!libomps_get.load(std::memory_order_relaxed))
    has_looked.store(false, std::memory_order_release);
}

int default_device() {
  return my_asker ? ask_libomp(*my_asker) : begin_to_ask();
}

void set_default_device(int number) {
  look_for_libomp();
  if (auto* const set = libomps_set.load(std::memory_order_relaxed))
    set(number);
  else
    own_default().store(number, std::memory_order_relaxed);
}

} // namespace omptool
