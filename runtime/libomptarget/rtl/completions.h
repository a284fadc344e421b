// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes in what a plugin with asynchronous functions says of its events. The plugin's callback may come before the call
// that made the event has returned, on any thread, with the plugin's locks held. It is therefore only noted here, and
// the core's workers do what follows.
//
// The plugin may give the address of a released event to a new one. So that a callback always means the event that
// has the address, none is released before it has been called back.
#pragma once

#include "omptarget_rtl.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace omptool {

class Rtl;

class Completions {
public:
  // The first to ask names the callback to the plugin: to be asked before its first asynchronous operation. Never
  // destroyed, as plugins are not.
  static Completions& of(const Rtl& rtl);

  // Runs `then` once, on a worker, when the event has completed, with "" or why it failed. Once per event, which lives
  // until then.
  void when_done(tgt_event_t native, std::function<void(std::string failure)> then);
  // Blocks until the event has completed. "", or why it failed.
  std::string wait(tgt_event_t native);
  // Returns whether the plugin has said of the event that its device is lost.
  bool has_lost_device(tgt_event_t native);
  // When it completed; the clock's zero: nobody has noted it.
  std::chrono::steady_clock::time_point ended_at(tgt_event_t native);
  // The core has no more use for the event, which may go on.
  void release(tgt_event_t native);
  // Lets the plugin make progress on what when_done() waits for. False: nothing is waited for, or it gets on by itself.
  bool progress();
  // The same, of all plugins.
  static void progress_all();
  // Returns whether this thread is in a kernel of one of them.
  static bool any_kernel_here();

private:
  struct Entry {
    bool completed = false;                        // as the plugin has said
    std::chrono::steady_clock::time_point at = {}; // where somebody listens: when
    bool released = false;
    bool lost = false; // its device, as the plugin has said
    std::function<void(std::string failure)> then;
  };
  using Lock = std::unique_lock<std::mutex>;
  template <std::size_t slot> static void called_back(tgt_callback_param_t native);
  template <std::size_t... slots> static tgt_callback_fct callback_of(std::size_t slot, std::index_sequence<slots...>);

  explicit Completions(const Rtl& rtl) : rtl_(rtl) {}
  static Completions* make(const Rtl& rtl);
  bool is_of_parent() const;
  void completed(tgt_event_t native);
  void finish(tgt_event_t native, std::function<void(std::string failure)> then);
  void release_ripe();
  void keep_going();
  [[noreturn]] void poll();
  std::string failure_of(tgt_event_t native);
  std::string describe(tgt_event_t native, std::int32_t error);

  const Rtl& rtl_;
  const unsigned forks_before_ = forks;
  static unsigned forks; // of this process and those before it
  std::mutex mutex_;     // the members below; no plugin call is made under it
  std::condition_variable changed_;
  std::unordered_map<tgt_event_t, Entry> entries_;
  std::vector<tgt_event_t> ripe_; // to be released
  bool releasing_ = false;        // a worker is about to
  std::size_t waited_for_ = 0;    // entries with a `then`
  std::size_t waiting_ = 0;       // threads in wait()
  bool polled_ = false;           // by a thread that is there for this
};

} // namespace omptool
