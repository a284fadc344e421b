// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Receives the completions of a plugin with asynchronous functions. The plugin's callback may come before the call that
// made the event has returned, on any thread, with the plugin's locks held. So the callback only notes the event, and
// the core's workers do the rest.
//
// The plugin may reuse the address of a released event. No event is released before its callback, so that a callback
// always means the event with that address.
#pragma once

#include "number_map.h"
#include "omptarget_rtl.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>

namespace omptool {

class Rtl;

class Completions {
public:
  using Then = std::function<void(std::string failure)>; // "" or why the operation failed

  // Returns the completions of a plugin. The first caller sets the plugin's callback, so this precedes its first
  // asynchronous operation. Never destroyed, as plugins are not.
  static Completions& of(const Rtl& rtl);

  // Called by the plugin when an event has completed.
  void completed(tgt_event_t native);
  // Runs `then` once, on a worker, when the event has completed. Once per event, which lives until then.
  void when_done(tgt_event_t native, Then then);
  // Blocks until the event has completed. "", or why it failed.
  std::string wait(tgt_event_t native);
  // Returns 0, or the plugin's error. The event has completed.
  std::int32_t result_of(tgt_event_t native) const;
  // Times of an operation whose event has completed: begin and end. The clock's zero: not recorded.
  struct Times {
    std::chrono::steady_clock::time_point began = {}, ended = {};
  };
  Times times_of(tgt_event_t native);
  // Releases events that the core no longer uses; their operations may continue. Changes the array.
  void release(std::span<tgt_event_t> natives);
  void release(tgt_event_t native) { release({&native, 1}); }
  // Makes progress in the plugin on events of when_done(). Returns false if nothing is awaited, or the plugin
  // progresses by itself.
  bool progress();
  // Lets all plugins make progress.
  static void progress_all();
  // Returns whether this thread is in a kernel of one of them.
  static bool any_kernel_here();

private:
  struct Entry {
    bool completed = false;                        // the plugin has called back
    std::chrono::steady_clock::time_point at = {}; // time of that, if there is a listener
    bool released = false;
    Then then;
  };
  struct All;
  using Lock = std::unique_lock<std::mutex>;

  explicit Completions(const Rtl& rtl) : rtl_(rtl) {}
  [[gnu::noinline, gnu::cold]] static Completions& begin(const Rtl& rtl);
  static std::uintptr_t number_of(tgt_event_t native) { return reinterpret_cast<std::uintptr_t>(native); }
  void finish(tgt_event_t native, Then then);
  void keep_going();
  template <typename Condition> void poll(Lock& lock, const Condition& is_over);
  std::string describe(std::int32_t result) const;

  const Rtl& rtl_;
  std::mutex mutex_; // the members below; no plugin call is made under it
  std::condition_variable changed_;
  std::condition_variable more_; // for the thread that polls, when nothing was waited for
  NumberMap<Entry> entries_;     // by the numbers of their events
  std::size_t waited_for_ = 0;   // entries with a `then`
  std::uint64_t changes_ = 0;    // events that were called back, or are waited for
  bool polled_ = false;          // by a thread, as long as there are any, and for a while after that
};

} // namespace omptool
