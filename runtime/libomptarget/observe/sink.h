// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes the events of the core to everybody who has subscribed. In most processes nobody has, and one load tells.
#pragma once

#include "observe/events.h"

#include <atomic>
#include <cstdint>

namespace omptool::observe {

// Subscribed for good, once: other threads may be telling it something. It may make calls of its own.
class Listener {
public:
  virtual void hear(const Event& event) = 0;

protected:
  ~Listener() = default;
};

constexpr std::uint32_t kUndecided = 1; // nobody has asked yet who wants to listen
constexpr std::uint32_t kHeard = 2;     // somebody listens
extern std::atomic<std::uint32_t> the_sink;

// Somebody listens, or may want to.
inline bool may_be_heard() {
  return the_sink.load(std::memory_order_acquire) != 0;
}
inline bool heard() {
  return the_sink.load(std::memory_order_acquire) & kHeard;
}

// True for the first to ask, who is to find out.
bool decide();
// Eight at most, which there are places for.
void subscribe(Listener& listener);
// It may still hear what was reported before.
void unsubscribe(Listener& listener);

// Tells those who listen; once this thread holds no lock of the core's any more.
void report(Event event);

// Lives as long as a lock that this thread holds, and longer: what is reported meanwhile waits.
class Postponed {
public:
  Postponed() : counted_(heard()) {
    if (counted_) [[unlikely]]
      begin();
  }
  ~Postponed() {
    if (counted_) [[unlikely]]
      end();
  }
  Postponed(const Postponed&) = delete;
  Postponed& operator=(const Postponed&) = delete;

private:
  static void begin();
  static void end();
  const bool counted_;
};

// A construct of the calling thread, from its begin to its end. To be made where somebody listens.
class Construct {
public:
  explicit Construct(const Call& call);
  ~Construct();
  Construct(const Construct&) = delete;
  Construct& operator=(const Construct&) = delete;
  // The number of the one that the thread is in; 0: none.
  static std::uint64_t current();

private:
  friend Operation begin(Operation operation);
  const Call call_;
  const std::uint64_t number_;
  const Construct* const outer_;
  const int faults_before_;
  static thread_local const Construct* innermost_ [[gnu::tls_model("initial-exec")]];
};

// While this lives, what the thread asks of devices is the runtime's own business.
class Unheard {
public:
  Unheard() : before_(here_) { here_ = true; }
  ~Unheard() { here_ = before_; }
  Unheard(const Unheard&) = delete;
  Unheard& operator=(const Unheard&) = delete;

private:
  friend Operation begin(Operation operation);
  static thread_local bool here_ [[gnu::tls_model("initial-exec")]];
  const bool before_;
};

// Announces an operation, to be ended by whoever knows that it has. The id is 0 where nobody is told.
Operation begin(Operation operation);
// `when`: now, if not known.
void end(Operation& operation, bool done, Operation::Clock::time_point when = {});
// No other queue has it.
std::uint64_t next_queue();

// The number of the host, which follows those of the devices.
inline std::atomic<int> host_number{0};

} // namespace omptool::observe
