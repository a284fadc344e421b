// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pool.h"

#include "fault_signals.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace omptool::host {

unsigned Pool::hardware_threads() {
  static const unsigned count = std::max(1U, std::thread::hardware_concurrency());
  return count;
}

// Starts detached threads, which wait for work until the process ends. A machine that grants fewer threads than it has
// processors is slower, not wrong.
void Pool::start_threads() {
  try {
    for (unsigned i = 1; i < hardware_threads(); ++i)
      std::thread([this] { help(); }).detach();
  } catch (const std::system_error&) {
  }
}

void Pool::work_on(Job& job) {
  for (;;) {
    const std::int64_t begin = job.next.fetch_add(job.block, std::memory_order_relaxed);
    if (begin >= job.count)
      return;
    const std::int64_t end = std::min(begin + job.block, job.count);
    for (std::int64_t i = begin; i < end; ++i)
      job.body(job.context, i);
  }
}

void Pool::help() {
  receive_fault_signals();
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return !jobs_.empty(); });
    Job& job = *jobs_.front();
    ++job.helpers;
    lock.unlock();
    work_on(job);
    lock.lock();
    // Erases the job: all its parts have begun. Its caller waits for the threads that still run them.
    std::erase(jobs_, &job);
    if (--job.helpers == 0)
      done_.notify_all();
  }
}

void Pool::run(std::int64_t count, void (*body)(void*, std::int64_t), void* context) {
  if (count == 1 || hardware_threads() == 1) {
    for (std::int64_t i = 0; i < count; ++i)
      body(context, i);
    return;
  }
  std::call_once(started_, [this] { start_threads(); });
  // Blocks small enough that threads of unequal speed end together, large enough to be worth a step.
  constexpr std::int64_t kBlocksPerThread = 8;
  Job job{count, std::max<std::int64_t>(1, count / (kBlocksPerThread * hardware_threads())), body, context};
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
  }
  more_.notify_all();
  work_on(job);
  std::unique_lock lock(mutex_);
  std::erase(jobs_, &job);
  done_.wait(lock, [&] { return job.helpers == 0; });
}

} // namespace omptool::host
