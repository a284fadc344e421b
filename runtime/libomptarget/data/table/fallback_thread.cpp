// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/fallback_thread.h"

#include "thread_exit.h"

namespace omptool {
namespace {

// Not destroyed with the thread: destructors of the program's may still make calls.
thread_local constinit std::shared_ptr<std::atomic<bool>>* current_flag __attribute__((tls_model("initial-exec"))) =
    nullptr; // set when the fallback of this thread ends; null: none runs

constinit ThreadExit fallback_at_exit([](void*) { HostFallback::end(); });

} // namespace

HostFallback HostFallback::begin() {
  end();
  current_flag = new std::shared_ptr(std::make_shared<std::atomic<bool>>(false));
  fallback_at_exit.arm(current_flag);
  return HostFallback(*current_flag);
}

void HostFallback::end() {
  if (const std::unique_ptr<std::shared_ptr<std::atomic<bool>>> own(std::exchange(current_flag, nullptr)); own)
    (*own)->store(true, std::memory_order_release);
}

} // namespace omptool
