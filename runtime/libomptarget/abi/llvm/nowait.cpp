// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/nowait.h"

#include "process/libomp.h"
#include "process/per_process.h"

#include <chrono>
#include <cstdint>
#include <utility>

namespace omptool::llvm {
namespace {

// Of libomp 16 and later. The caller is a task, so libomp is there.
struct Calls {
  std::int32_t (*thread_number)(void* location);
  bool (*has_task_team)(std::int32_t thread);
  void** (*handle_of)(std::int32_t thread);
  bool are_there;

  Calls() {
    thread_number = reinterpret_cast<decltype(thread_number)>(find_in_libomp("__kmpc_global_thread_num"));
    has_task_team = reinterpret_cast<decltype(has_task_team)>(find_in_libomp("__kmpc_omp_has_task_team"));
    handle_of = reinterpret_cast<decltype(handle_of)>(find_in_libomp("__kmpc_omp_get_target_async_handle_ptr"));
    // Intel's libomp has them all, but runs no task again: it waits for a call that nobody makes here.
    are_there = thread_number && has_task_team && handle_of && !find_in_libomp("kmp_target_task_completed_cb");
  }
};

} // namespace

void** nowait_handle() {
  constexpr std::int32_t kNotOfLibomp = -2;
  const Calls& calls = PerProcess<Calls>::get();
  if (!calls.are_there)
    return nullptr;
  const std::int32_t thread = calls.thread_number(nullptr);
  // Without a task team nobody would run the task again, which is how libomp asks.
  return thread != kNotOfLibomp && calls.has_task_team(thread) ? calls.handle_of(thread) : nullptr;
}

void leave(void** handle, EventPtr event) {
  if (event)
    *handle = new EventPtr(std::move(event));
}

void query(void** handle) {
  constexpr std::chrono::microseconds kMoment{50};
  auto* const event = handle ? static_cast<EventPtr*>(*handle) : nullptr;
  if (!event || !(*event)->wait_for(kMoment))
    return;
  *handle = nullptr;
  delete event;
}

} // namespace omptool::llvm
