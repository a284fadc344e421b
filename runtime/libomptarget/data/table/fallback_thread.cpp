// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/fallback_thread.h"

#include "threads/thread_records.h"

namespace omptool {
namespace {

constinit ThreadRecords<HostFallback::Thread> all_threads;
thread_local constinit HostFallback::Thread* this_thread = nullptr; // once one of its regions has fallen back

struct Leaver {
  bool armed = false;
  ~Leaver() {
    if (!armed || !this_thread)
      return;
    HostFallback::end();
    ThreadRecords<HostFallback::Thread>::give_back(*this_thread);
    this_thread = nullptr;
  }
};
thread_local Leaver leaver;

} // namespace

HostFallback HostFallback::begin() {
  if (!this_thread) {
    this_thread = &all_threads.take();
    leaver.armed = true;
  }
  return {*this_thread, ++this_thread->begun};
}

void HostFallback::end() {
  if (this_thread)
    this_thread->over.store(this_thread->begun, std::memory_order_release);
}

} // namespace omptool
