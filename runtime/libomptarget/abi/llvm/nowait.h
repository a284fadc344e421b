// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks of libomp's whose region goes on when the task's function has returned: libomp keeps a handle in the task, and
// asks from time to time whether it is done (__tgt_target_nowait_query). So more regions overlap than libomp has
// threads for them.
#pragma once

#include "backoff.h"
#include "observe/events/sink.h"
#include "process/libomp.h"
#include "process/per_process.h"
#include "rtl/event.h"

#include <utility>

namespace omptool::llvm {

// Of libomp 16 and later. The caller is a task, so libomp is there.
struct TaskCalls {
  std::int32_t (*thread_number)(void*) = find_in_libomp<std::int32_t(void*)>("__kmpc_global_thread_num");
  bool (*has_task_team)(std::int32_t) = find_in_libomp<bool(std::int32_t)>("__kmpc_omp_has_task_team");
  void** (*handle_of)(std::int32_t) = find_in_libomp<void**(std::int32_t)>("__kmpc_omp_get_target_async_handle_ptr");
  // Intel's libomp has them all, but runs no task again: it waits for a call that nobody makes here.
  bool are_there = thread_number && has_task_team && handle_of && !find_in_libomp("kmp_target_task_completed_cb");
};

// Returns where the task that runs on this thread has its handle. Null: the operations of the call have to end before
// it returns.
inline void** nowait_handle() {
  constexpr std::int32_t kNotOfLibomp = -2;
  const TaskCalls& calls = PerProcess<TaskCalls>::get();
  if (!calls.are_there)
    return nullptr;
  const std::int32_t thread = calls.thread_number(nullptr);
  // Without a task team nobody would run the task again, which is how libomp asks.
  return thread != kNotOfLibomp && calls.has_task_team(thread) ? calls.handle_of(thread) : nullptr;
}

// The content of a task's handle.
struct Left {
  EventPtr event;
  std::uint64_t construct; // as those who listen know it
};

// Waits as long as that costs less than to sleep. Returns false if libomp has to run the task again.
inline bool is_soon_done(const Event& event) {
  for (Backoff backoff; !event.is_done() && backoff.look_again();) {
  }
  return event.is_done();
}

// The task is over when the event has happened; at once without one.
inline void leave(void** handle, EventPtr event) {
  if (event && !is_soon_done(*event))
    *handle = new Left{std::move(event), observe::Within::current()};
}

// Sets the handle to null if it is.
inline void query(void** handle) {
  auto* const left = handle ? static_cast<Left*>(*handle) : nullptr;
  if (!left || !is_soon_done(*left->event))
    return;
  if (observe::heard()) [[unlikely]]
    observe::report(observe::TaskEnds{left->construct});
  *handle = nullptr;
  delete left;
}

} // namespace omptool::llvm
