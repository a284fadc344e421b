// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/nowait.h"

#include "process/libomp.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace omptool::llvm {
namespace {

// Of libomp 16 and later.
struct Calls {
  std::int32_t (*thread_number)(void* location) = nullptr;
  bool (*has_task_team)(std::int32_t thread) = nullptr;
  void** (*handle_of)(std::int32_t thread) = nullptr;
};

Calls* find_calls() {
  auto* const found = new Calls{
      reinterpret_cast<decltype(Calls::thread_number)>(find_in_libomp("__kmpc_global_thread_num")),
      reinterpret_cast<decltype(Calls::has_task_team)>(find_in_libomp("__kmpc_omp_has_task_team")),
      reinterpret_cast<decltype(Calls::handle_of)>(find_in_libomp("__kmpc_omp_get_target_async_handle_ptr")),
  };
  // Intel's libomp has them all, but runs no task again: it waits for a call that nobody makes here.
  const bool is_intels = find_in_libomp("kmp_target_task_completed_cb") != nullptr;
  if (is_intels || !found->thread_number || !found->has_task_team || !found->handle_of)
    *found = {};
  return found;
}

// The caller is a task, so libomp is there. Without a lock, as in other places that a child of fork() comes through.
const Calls& libomp() {
  static std::atomic<const Calls*> known{nullptr};
  const Calls* one = known.load(std::memory_order_acquire);
  if (one)
    return *one;
  const Calls* const mine = find_calls();
  if (known.compare_exchange_strong(one, mine))
    return *mine;
  delete mine;
  return *one;
}

} // namespace

void** nowait_handle() {
  constexpr std::int32_t kNotOfLibomp = -2;
  const Calls& calls = libomp();
  if (!calls.thread_number)
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
