// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes the core's events to all subscribers. In most processes there are none, which costs one load.
#pragma once

#include "observe/events/events.h"

#include <atomic>
#include <cstdint>

namespace omptool::observe {

// Listener for events, subscribed once and for good, because other threads may be calling it. A listener may call this
// library.
class Listener {
public:
  virtual void hear(const Event& event) = 0;

protected:
  ~Listener() = default;
};

constexpr std::uint32_t kUndecided = 1;    // listeners have not been looked for yet
constexpr std::uint32_t kHeard = 2;        // there is a listener
constexpr std::uint32_t kBegins = 4;       // one listens to begins, too: of constructs, operations, copies of objects
constexpr std::uint32_t kOnThread = 8;     // to constructs on the threads of their calls, from begin to end
constexpr std::uint32_t kDifferences = 16; // to the differences of global variables that a construct does not copy
extern std::atomic<std::uint32_t> the_sink;

// Returns whether there is a listener, or may be one.
inline bool may_be_heard() {
  return the_sink.load(std::memory_order_acquire) != 0;
}
inline bool is_undecided() {
  return the_sink.load(std::memory_order_acquire) & kUndecided;
}
inline bool heard() {
  return the_sink.load(std::memory_order_acquire) & kHeard;
}

inline bool hears_begins() {
  return the_sink.load(std::memory_order_acquire) & kBegins;
}

inline bool heard_on_thread() {
  return the_sink.load(std::memory_order_acquire) & kOnThread;
}

inline bool hears_differences() {
  return the_sink.load(std::memory_order_acquire) & kDifferences;
}

// Marks the sink as decided: all listeners of the environment have subscribed.
void decided();
// Adds a listener; there is no limit to their number. `what` has bits of the above. A listener with kHeard alone may
// receive begins, too; a listener with kOnThread does not receive constructs whose call could return before their end.
void subscribe(Listener& listener, std::uint32_t what = kHeard | kBegins);
// Unsubscribes a listener, which may still receive earlier events.
void unsubscribe(Listener& listener);

// Passes an event to the listeners, once this thread holds no lock of the core.
void tell_listeners(const Event& event);
template <typename Kind> void report(const Kind& event) {
  if (heard()) [[unlikely]]
    tell_listeners(&event);
}

// Postpones this thread's events while it holds a lock. The object outlives the lock.
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

// Begun construct of a call. Number 0: there is no listener.
struct Begun {
  std::uint64_t number = 0;
  Call call = {};
  Clock::time_point when = {};
};

// Operations of this thread belong to the construct within this object's lifetime.
class Within {
public:
  explicit Within(const Begun& construct) : outer_(innermost_) { innermost_ = &construct; }
  ~Within() { innermost_ = outer_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  // Innermost construct of the thread, or null.
  static const Begun* innermost() { return innermost_ && innermost_->number != 0 ? innermost_ : nullptr; }
  // Number of the thread's current construct, or 0.
  static std::uint64_t current() { return innermost_ ? innermost_->number : 0; }

private:
  const Begun* const outer_;
  static thread_local const Begun* innermost_ [[gnu::tls_model("initial-exec")]];
};

// Returns the construct that the calling thread is in; null: none.
const Begun* construct_here();

// The rest of a construct whose call returns before it has ended. It ends with this.
class Rest {
public:
  Rest() = default;
  ~Rest() { end(); }
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;
  const Begun& construct() const { return construct_; }
  void end();

private:
  friend class Construct;
  Begun construct_;
};

// Construct of the calling thread, from its begin to its end. Made only if there is a listener.
class Construct {
public:
  explicit Construct(const Call& call);
  ~Construct();
  Construct(const Construct&) = delete;
  Construct& operator=(const Construct&) = delete;
  // Leaves the thread's construct open after its call: `rest` ends it.
  static void leave(Rest& rest);
  // Takes leave() back: the construct ends with its call after all.
  static void take_back(Rest& rest);

private:
  const Begun begun_;
  const int faults_before_;
  bool is_left_ = false;
  Construct* const outer_;
  const Within within_;
  static thread_local Construct* innermost_ [[gnu::tls_model("initial-exec")]];
};

// Unheard operations: within this object's lifetime, the thread's operations are internal to the runtime, and are not
// reported.
class Unheard {
public:
  Unheard() : before_(here_) { here_ = true; }
  ~Unheard() { here_ = before_; }
  Unheard(const Unheard&) = delete;
  Unheard& operator=(const Unheard&) = delete;

private:
  friend void begin(Operation& operation);
  static thread_local bool here_ [[gnu::tls_model("initial-exec")]];
  const bool before_;
};

// Shown address: within this object's lifetime, the thread's operations report this host memory in place of the
// runtime's own, which has the bytes. Null: they report their real addresses.
class Shown {
public:
  explicit Shown(const void* host) : before_(here_) { here_ = host; }
  ~Shown() { here_ = before_; }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

private:
  friend void begin(Operation& operation);
  static thread_local const void* here_ [[gnu::tls_model("initial-exec")]];
  const void* const before_;
};

// Returns when the thread's last operation ended, or its construct began: an operation that follows begins then. To
// read the clock is a third of what an event costs.
Clock::time_point latest();
// Returns the time, by the clock of the events.
Clock::time_point now();
// Notes that the thread has waited for another one, so that its next operation begins later.
void note_pause();

// Reports the begin of an operation; its owner reports the end. The id is 0 if there is no listener.
void begin(Operation& operation);
// Reports the end of an operation. `when`: now, by default.
void end(Operation& operation, bool done, Clock::time_point when = {});
// No other queue, and no other image on a device, has the number.
std::uint64_t next_queue();
std::uint64_t next_module();

// The number of the host, which follows those of the devices.
inline std::atomic<int> host_number{0};

} // namespace omptool::observe
