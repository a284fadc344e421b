// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watches for kernels that never end. A kernel that is done when its function returns is watched from its begin. A
// queued kernel is watched from the first wait for its queue, because its state is not known before. A queued kernel
// without a waiter is watched from the enqueue on, because its device reports its end; but while other kernels on that
// device end, its own turn may still be to come.
#include "watchdog.h"

#include "observe/events/sink.h"
#include "process/message.h"
#include "process/per_process.h"
#include "region_name.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace omptool::observe {
namespace {

using Clock = Operation::Clock;

unsigned timeout = 0; // seconds; written before anybody listens

class Watched {
public:
  Watched() {
    std::thread([this] { watch(); }).detach();
  }

  void begins(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    if (operation.kind == Operation::Kind::kLaunch && operation.queue != 0 && !operation.is_later)
      queued_[operation.queue] = operation.entry;
    else if (operation.kind == Operation::Kind::kLaunch)
      expect(operation, std::string(operation.entry));
    else if (const auto kernel = queued_.find(operation.queue);
             operation.kind == Operation::Kind::kWait && kernel != queued_.end())
      expect(operation, kernel->second);
  }
  void ends(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    if (operation.queue != 0)
      last_end_[operation.device] = now();
    if (operation.kind == Operation::Kind::kLaunch && operation.queue != 0)
      queued_.erase(operation.queue);
    running_.erase(operation.id);
  }

private:
  struct Running {
    Clock::time_point since;
    std::string kernel;
    int device;
    bool is_later;
  };

  void expect(const Operation& operation, const std::string& kernel) {
    if (running_.empty())
      changed_.notify_one();
    running_[operation.id] = {now(), kernel, operation.device, operation.is_later};
  }

  Clock::time_point deadline_of(const Running& one) const {
    const auto last = one.is_later ? last_end_.find(one.device) : last_end_.end();
    const Clock::time_point since = last == last_end_.end() ? one.since : std::max(one.since, last->second);
    return since + std::chrono::seconds(timeout);
  }

  // Watches the deadlines. Deadlines only move later, and new ones are never earlier.
  void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (running_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto is_due_before = [this](const auto& one, const auto& other) {
        return deadline_of(one.second) < deadline_of(other.second);
      };
      const Running first = std::min_element(running_.begin(), running_.end(), is_due_before)->second;
      const Clock::time_point deadline = deadline_of(first);
      if (now() >= deadline)
        die("region %s on device %d has not ended within %u s (OMPTOOL_KERNEL_TIMEOUT)",
            region_name(first.kernel).c_str(), first.device, timeout);
      changed_.wait_until(lock, deadline);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Running> running_;
  std::map<std::uint64_t, std::string> queued_; // by queue: the kernel that was queued last
  std::map<int, Clock::time_point> last_end_;   // by device: of what was queued
};

class Watchdog : public Listener {
public:
  void hear(const Event& event) override {
    if (const auto* const begun = as<OperationBegins>(event); begun && is_watched(begun->operation))
      PerProcess<Watched>::get().begins(begun->operation);
    else if (const auto* const ended = as<OperationEnds>(event); ended && is_watched(ended->operation))
      PerProcess<Watched>::get().ends(ended->operation);
  }

private:
  static bool is_watched(const Operation& operation) {
    return operation.kind == Operation::Kind::kLaunch || operation.queue != 0;
  }
};

} // namespace

void watch_kernels(unsigned seconds) {
  if (seconds == 0)
    return;
  timeout = seconds;
  static Watchdog* const only = new Watchdog; // never destroyed: threads may still launch while the process exits
  subscribe(*only);
}

} // namespace omptool::observe
