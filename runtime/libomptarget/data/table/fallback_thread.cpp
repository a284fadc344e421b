// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/fallback_thread.h"

namespace omptool {
namespace {

// Not destroyed with the thread: destructors of the program's may still make calls.
thread_local constinit std::shared_ptr<std::atomic<bool>>* over = nullptr; // null: none runs

} // namespace

HostFallback HostFallback::begin() {
  struct Leaver {
    ~Leaver() { end(); }
  };
  static thread_local const Leaver leaver;
  end();
  over = new std::shared_ptr(std::make_shared<std::atomic<bool>>(false));
  return HostFallback(*over);
}

void HostFallback::end() {
  if (const std::unique_ptr<std::shared_ptr<std::atomic<bool>>> own(std::exchange(over, nullptr)); own)
    (*own)->store(true, std::memory_order_release);
}

} // namespace omptool
