// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the tests of the asynchronous functions: events and their callbacks, operations, and kernels that can be
// held.
#pragma once

#include "conformance.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

using Events = std::vector<tgt_event_t>;

inline int in_flight() {
  return std::atoi(told("CONFORMANCE_IN_FLIGHT").c_str());
}

// Counts the callbacks of each event. An event's address may be used again, but not before it is released.
class Completions {
public:
  void note(tgt_event_t event) {
    const std::lock_guard lock(mutex_);
    ++times_[event];
  }
  int of(tgt_event_t event) {
    const std::lock_guard lock(mutex_);
    return times_[event];
  }
  void forget(tgt_event_t event) {
    const std::lock_guard lock(mutex_);
    times_.erase(event);
  }

private:
  std::mutex mutex_;
  std::map<tgt_event_t, int> times_;
};
inline Completions& completions() {
  static Completions& only = *new Completions; // threads go on while the program ends
  return only;
}

inline void* kernel(Entry entry) {
  return loaded()[entry];
}

// An event that is released in the end.
class Event {
public:
  explicit Event(tgt_event_t event) : event_(event) { REQUIRE(event); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    release();
    event_ = std::exchange(other.event_, nullptr);
    return *this;
  }
  ~Event() { release(); }
  void release() {
    if (!event_)
      return;
    RTL(__tgt_rtl_release_dep)(event_);
    completions().forget(std::exchange(event_, nullptr));
  }
  operator tgt_event_t() const { return event_; }

  // Awaits the callback for the event, as the core does for plugins without wait_event.
  void await_callback() const {
    while (completions().of(event_) == 0)
      if (RTL(__tgt_rtl_process_dep)() == 0)
        std::this_thread::yield();
  }
  std::int32_t wait() const {
    if (const auto wait_event = find<decltype(&__tgt_rtl_wait_event)>("__tgt_rtl_wait_event"))
      return wait_event(event_);
    await_callback();
    return 0;
  }
  bool is_pending() const {
    if (const auto query_event = find<decltype(&__tgt_rtl_query_event)>("__tgt_rtl_query_event"))
      return query_event(event_) == OMPTARGET_RTL_PENDING;
    RTL(__tgt_rtl_process_dep)();
    return completions().of(event_) == 0;
  }

private:
  tgt_event_t event_;
};

inline std::int32_t count_of(const auto& all) {
  return static_cast<std::int32_t>(all.size());
}

// Function of the plugin, looked up after the plugin's callback was set, which precedes its first operation.
template <typename Function> Function after_init_dep(Function function) {
  static const bool is_told = [] {
    REQUIRE(init_device(0) == 0);
    RTL(__tgt_rtl_init_dep)([](tgt_event_t event) { completions().note(event); });
    return true;
  }();
  REQUIRE(is_told);
  return function;
}
#define QUEUED(name) after_init_dep(RTL(name))

// Joins events. Each call gets arrays of its own, which are overwritten as soon as it has returned.
inline Event join(Events before, std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_dep)(device, count_of(before), before.data(), &made) == 0);
  before.assign(before.size(), &made);
  return Event(made);
}
inline Event submit_later(void* target, const void* host, std::size_t size, Events before = {},
                          std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_data_submit)(device, target, const_cast<void*>(host), static_cast<std::int64_t>(size),
                                              count_of(before), before.data(), &made) == 0);
  before.assign(before.size(), &made);
  return Event(made);
}
inline Event retrieve_later(void* host, void* target, std::size_t size, Events before = {}, std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_data_retrieve)(device, host, target, static_cast<std::int64_t>(size), count_of(before),
                                                before.data(), &made) == 0);
  before.assign(before.size(), &made);
  return Event(made);
}
inline Event run_later(void* entry, std::vector<void*> arguments, Events before = {}, std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_run_target_region)(device, entry, arguments.data(), count_of(arguments),
                                                    count_of(before), before.data(), &made) == 0);
  arguments.assign(arguments.size(), &made);
  before.assign(before.size(), &made);
  return Event(made);
}
inline Event run_teams_later(void* entry, std::vector<void*> arguments, std::int32_t teams, std::int32_t threads,
                             Events before = {}) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_run_target_team_region)(0, entry, arguments.data(), count_of(arguments), teams,
                                                         threads, count_of(before), before.data(), &made) == 0);
  arguments.assign(arguments.size(), &made);
  return Event(made);
}

// A gate that a kernel waits for. It lies in memory of the host where a plugin has some: a thread that waits for a copy
// may be one that a driver then has run the kernel.
class Gate {
public:
  Gate() {
    if (const auto allocate = find<decltype(&__tgt_rtl_memory_alloc)>("__tgt_rtl_memory_alloc"))
      of_host_ = static_cast<int*>(allocate(0, sizeof *of_host_, OMPTARGET_MEMORY_HOST));
    if (of_host_)
      *of_host_ = 0;
    else
      of_device_.emplace(std::vector<int>{0});
  }
  ~Gate() {
    if (of_host_)
      CHECK(RTL(__tgt_rtl_memory_free)(0, of_host_, OMPTARGET_MEMORY_HOST) == 0);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void* at() const { return of_host_ ? of_host_ : of_device_->at(); }
  void open() const {
    const int one = 1;
    if (of_host_)
      std::atomic_ref(*of_host_).store(one, std::memory_order_release);
    else
      CHECK(submit(of_device_->at(), &one, sizeof one) == 0);
  }

private:
  int* of_host_ = nullptr;
  std::optional<Memory> of_device_;
};

// Held stream, which continues when the gate is opened.
class Held {
public:
  Held() : event_(run_later(kernel(kHold), {gate_.at()})) {}
  ~Held() {
    open();
    event_.wait();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  operator tgt_event_t() const { return event_; }
  void open() const { gate_.open(); }
  Event& event() { return event_; }

private:
  Gate gate_;
  Event event_;
};

// Notes of numbers by kernels, in their order.
class Notes {
public:
  Event add(int number, Events before = {}, std::int32_t device = 0) const {
    return run_later(kernel(kNote), {list_.at(), bits(number)}, std::move(before), device);
  }
  std::vector<int> numbers() const {
    const std::vector<int> all = list_.values<int>(kRoom);
    CHECK(all[2] == 0); // never two at once
    return {all.begin() + kHead, all.begin() + kHead + all[0]};
  }

private:
  static constexpr std::size_t kRoom = 128;
  static constexpr std::ptrdiff_t kHead = 3;
  Memory list_{std::vector<int>(kRoom)};
};
