// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/listeners.h"

#include "observe/events/sink.h"
#include "observe/ompt/connection.h"
#include "observe/opening.h"
#include "process/per_process.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace omptool::observe {
namespace {

struct Decision {
  std::mutex mutex;
  std::thread::id thread; // that finds out; none: nobody has begun to
  std::condition_variable made;
};

// Patience of a thread that waits for a tool's start. The thread may run a constructor, with the dynamic linker's lock,
// for which the starting thread may wait. After that time its events are not reported.
constexpr std::chrono::seconds kPatience{1};

} // namespace

void find_listeners() {
  if (!is_undecided())
    return;
  Decision& decision = PerProcess<Decision>::get();
  std::unique_lock lock(decision.mutex);
  if (!is_undecided() || decision.thread == std::this_thread::get_id()) // a call of the tool that is being started
    return;
  if (decision.thread != std::thread::id()) { // nobody would hear of a construct that begins before
    decision.made.wait_for(lock, kPatience, [] { return !is_undecided(); });
    return;
  }
  decision.thread = std::this_thread::get_id();
  lock.unlock(); // listeners ask the dynamic linker, and a tool may make calls
  start_observers();
  ompt::connect();
  lock.lock();
  decided();
  decision.made.notify_all();
}

void start_tools() {
  if (!is_undecided())
    return;
  Decision& decision = PerProcess<Decision>::get();
  std::unique_lock lock(decision.mutex);
  const bool is_starting = decision.thread != std::thread::id();
  lock.unlock();
  if (!is_starting)
    ompt::connect();
}

} // namespace omptool::observe
