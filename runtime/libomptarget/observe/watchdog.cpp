// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that never end. One that is done when its function returns is watched from its begin; one that is queued,
// from when somebody waits for its queue: before, nobody can tell whether it has ended.
#include "observe/watchdog.h"

#include "observe/sink.h"
#include "process/environment.h"
#include "process/message.h"
#include "process/per_process.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace omptool::observe {
namespace {

using Clock = Operation::Clock;

class Watched {
public:
  Watched() {
    std::thread([this] { watch(); }).detach();
  }

  void begins(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    if (operation.kind == Operation::Kind::kLaunch && operation.queue != 0)
      queued_[operation.queue] = operation.entry;
    else if (operation.kind == Operation::Kind::kLaunch)
      expect(operation, operation.entry);
    else if (const auto kernel = queued_.find(operation.queue); kernel != queued_.end())
      expect(operation, kernel->second);
  }
  void ends(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    if (operation.kind == Operation::Kind::kLaunch && operation.queue != 0)
      queued_.erase(operation.queue);
    running_.erase(operation.id);
  }

private:
  struct Running {
    Clock::time_point deadline;
    std::string kernel;
    int device;
  };

  void expect(const Operation& operation, const std::string& kernel) {
    const std::chrono::seconds patience(environment().kernel_timeout);
    if (running_.empty())
      changed_.notify_one();
    running_[operation.id] = {Clock::now() + patience, kernel, operation.device};
  }

  // One patience for all: they are due in the order in which they began.
  void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (running_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const Running first = running_.begin()->second;
      if (Clock::now() >= first.deadline)
        die("region %s on device %d has not ended within %u s (OMPTOOL_KERNEL_TIMEOUT)", first.kernel.c_str(),
            first.device, environment().kernel_timeout);
      changed_.wait_until(lock, first.deadline);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Running> running_;
  std::map<std::uint64_t, std::string> queued_; // by queue: the kernel that was queued last
};

class Watchdog : public Listener {
public:
  void hear(const Event& event) override {
    if (const auto* const begun = std::get_if<OperationBegins>(&event); begun && is_watched(begun->operation))
      PerProcess<Watched>::get().begins(begun->operation);
    else if (const auto* const ended = std::get_if<OperationEnds>(&event); ended && is_watched(ended->operation))
      PerProcess<Watched>::get().ends(ended->operation);
  }

private:
  static bool is_watched(const Operation& operation) {
    return operation.kind == Operation::Kind::kLaunch ||
           (operation.kind == Operation::Kind::kWait && operation.queue != 0);
  }
};

} // namespace

void watch_kernels() {
  if (environment().kernel_timeout == 0)
    return;
  static Watchdog* const only = new Watchdog; // never destroyed: threads may still launch while the process exits
  subscribe(*only);
}

} // namespace omptool::observe
