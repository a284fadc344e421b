// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/completions.h"

#include "backoff.h"
#include "observe/events/sink.h"
#include "process/message.h"
#include "process/per_process.h"
#include "rtl/core_workers.h"
#include "rtl/rtl.h"
#include "short_lock.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace omptool {
namespace {

constexpr std::size_t kSlots = 64;
constexpr std::chrono::seconds kIdle{1}; // of a thread that calls a plugin: then it ends

} // namespace

// ---- one per plugin ----

// All callbacks. A plugin passes the event alone, and two plugins may use one address, so each plugin has its own
// function. A child of fork() starts anew, because the parent's plugins have no threads there.
struct Completions::All {
  std::array<std::atomic<Completions*>, kSlots> slots{};

  template <std::size_t slot> static void called_back(tgt_callback_param_t native) {
    if (const All* const all = PerProcess<All>::known())
      if (Completions* const one = all->slots[slot].load(std::memory_order_acquire))
        one->completed(native);
  }
  template <std::size_t... slot>
  static constexpr std::array<tgt_callback_fct, kSlots> callbacks(std::index_sequence<slot...>) {
    return {called_back<slot>...};
  }
  // Returns the place of a plugin's, which gets one first.
  std::size_t slot_of(Completions& one) {
    for (std::size_t slot = 0; slot < kSlots; ++slot)
      if (Completions* known = nullptr; slots[slot].compare_exchange_strong(known, &one) || known == &one)
        return slot;
    die("plugin %s is one too many: %zu plugins with asynchronous functions are the most", one.rtl_.name().c_str(),
        kSlots);
  }
};

Completions& Completions::of(const Rtl& rtl) {
  Completions* const known = rtl.completions_.load(std::memory_order_acquire);
  return known ? *known : begin(rtl);
}

// Begins callbacks of a plugin. A thread waits for a limited time while another one sets the callback, because that one
// may wait for the dynamic linker, whose lock this one may hold. After that time both set the same callback.
Completions& Completions::begin(const Rtl& rtl) {
  static constexpr auto kCallbacks = All::callbacks(std::make_index_sequence<kSlots>());
  constexpr std::chrono::seconds kPatience{1};
  const std::unique_lock turn(rtl.listening_, kPatience);
  if (Completions* const known = rtl.completions_.load(std::memory_order_acquire))
    return *known;
  Completions* own = nullptr;
  if (std::unique_ptr<Completions> made(new Completions(rtl)); rtl.own_.compare_exchange_strong(own, made.get()))
    own = made.release();
  rtl.call().init_dep(kCallbacks[PerProcess<All>::get().slot_of(*own)]);
  rtl.completions_.store(own, std::memory_order_release);
  return *own;
}

// ---- what the plugin says ----

void Completions::completed(tgt_event_t native) {
  Then then;
  bool is_released = false;
  {
    const Lock lock = lock_shortly(mutex_);
    Entry& entry = entries_[number_of(native)];
    entry.completed = true;
    ++changes_;
    if (observe::heard()) [[unlikely]]
      entry.at = observe::Clock::now();
    then.swap(entry.then);
    if (then)
      --waited_for_;
    changed_.notify_all();
    is_released = entry.released;
    if (is_released)
      entries_.take(number_of(native));
  }
  if (then)
    finish(native, std::move(then));
  if (is_released)
    core_workers::finish([this, native] { rtl_.call().release_dep(native); });
}

void Completions::finish(tgt_event_t native, Then then) {
  core_workers::finish([this, native, then = std::move(then)] { then(describe(result_of(native))); });
}

std::string Completions::describe(std::int32_t result) const {
  return result == 0 ? std::string() : "error " + std::to_string(result) + rtl_.last_error();
}

std::int32_t Completions::result_of(tgt_event_t native) const {
  const RtlFunctions& call = rtl_.call();
  if (call.query_event)
    if (const std::int32_t result = call.query_event(native); result != OMPTARGET_RTL_PENDING)
      return result;
  return call.wait_event ? call.wait_event(native) : 0;
}

// ---- what the core asks ----

void Completions::when_done(tgt_event_t native, Then then) {
  bool is_polled = false;
  {
    const Lock lock = lock_shortly(mutex_);
    Entry& entry = entries_[number_of(native)];
    if (!entry.completed) {
      entry.then = std::move(then);
      ++waited_for_;
      ++changes_;
      changed_.notify_all();
      more_.notify_one();
    }
    is_polled = polled_;
  }
  if (then)
    finish(native, std::move(then));
  else if (!is_polled)
    keep_going();
}

std::string Completions::wait(tgt_event_t native) {
  observe::note_pause();
  if (const auto wait_event = rtl_.call().wait_event)
    return describe(wait_event(native));
  {
    Lock lock(mutex_);
    poll(lock, [&] { return entries_[number_of(native)].completed; });
  }
  return describe(result_of(native));
}

// Calls the plugin until `is_over`. The caller holds the lock, but not while the plugin is called.
template <typename Condition> void Completions::poll(Lock& lock, const Condition& is_over) {
  for (Backoff backoff; !is_over();) {
    const auto has_changed = [this, seen = changes_] { return changes_ != seen; };
    lock.unlock();
    const bool gets_on_by_itself = rtl_.call().process_dep() == 0;
    if (!gets_on_by_itself)
      backoff.pause([&](Backoff::Time time) {
        Lock napping(mutex_);
        return !changed_.wait_for(napping, time, has_changed);
      });
    lock.lock();
    if (gets_on_by_itself)
      changed_.wait(lock, has_changed);
    else if (has_changed())
      backoff.reset();
  }
}

Completions::Times Completions::times_of(tgt_event_t native) {
  using Time = std::chrono::steady_clock::time_point;
  const auto event_times = rtl_.call().event_times;
  if (std::uint64_t began = 0, ended = 0; event_times && event_times(native, &began, &ended) != 0)
    return {Time(std::chrono::nanoseconds(began)), Time(std::chrono::nanoseconds(ended))};
  const Lock lock = lock_shortly(mutex_);
  const Entry* const known = entries_.find(number_of(native));
  return {{}, known ? known->at : Time()};
}

void Completions::release(std::span<tgt_event_t> natives) {
  const auto goes_on = [this](tgt_event_t native) {
    Entry& entry = entries_[number_of(native)];
    const bool is_completed = entry.completed;
    entry.released = true;
    if (is_completed)
      entries_.take(number_of(native));
    return !is_completed;
  };
  auto end = natives.end();
  {
    const Lock lock = lock_shortly(mutex_);
    end = std::remove_if(natives.begin(), natives.end(), goes_on);
  }
  std::for_each(natives.begin(), end, rtl_.call().release_dep);
}

bool Completions::progress() {
  {
    const Lock lock = lock_shortly(mutex_);
    if (waited_for_ == 0)
      return false;
  }
  return rtl_.call().process_dep() != 0;
}

void Completions::progress_all() {
  if (const All* const all = PerProcess<All>::known())
    for (const std::atomic<Completions*>& slot : all->slots)
      if (Completions* const one = slot.load(std::memory_order_acquire))
        one->progress();
}

bool Completions::any_kernel_here() {
  const All* const all = PerProcess<All>::known();
  return all && std::any_of(all->slots.begin(), all->slots.end(), [](const std::atomic<Completions*>& slot) {
           const Completions* const one = slot.load(std::memory_order_acquire);
           const auto in_kernel = one ? one->rtl_.call().in_kernel : nullptr;
           return in_kernel && in_kernel() != 0;
         });
}

// Keeps a plugin going that progresses only when it is called: a thread calls it, because the program need not.
void Completions::keep_going() {
  if (!progress())
    return;
  {
    const Lock lock = lock_shortly(mutex_);
    if (std::exchange(polled_, true))
      return;
  }
  try {
    std::thread([this] {
      Lock lock(mutex_);
      do
        poll(lock, [this] { return waited_for_ == 0; });
      while (more_.wait_for(lock, kIdle, [this] { return waited_for_ > 0; }));
      polled_ = false;
    }).detach();
  } catch (const std::system_error&) { // the next operation asks again; who waits polls itself
    const Lock lock = lock_shortly(mutex_);
    polled_ = false;
  }
}

} // namespace omptool
