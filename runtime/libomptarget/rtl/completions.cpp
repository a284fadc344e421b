// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/completions.h"

#include "observe/sink.h"
#include "process/message.h"
#include "rtl/core_workers.h"
#include "rtl/rtl.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace omptool {
namespace {

// A callback is told the event alone, and two plugins may use one address: each has a function of its own.
constexpr std::size_t kSlots = 64;
std::array<std::atomic<Completions*>, kSlots> in_slot{};
std::atomic<std::size_t> slots_used{0};

// Between two questions that are not answered.
class Pause {
public:
  void take() {
    std::this_thread::sleep_for(next_);
    next_ = std::min<std::chrono::microseconds>(next_ * 2, std::chrono::milliseconds(1));
  }

private:
  std::chrono::microseconds next_{10};
};

} // namespace

unsigned Completions::forks = 0;

// ---- one per plugin ----

template <std::size_t slot> void Completions::called_back(tgt_callback_param_t native) {
  in_slot[slot].load(std::memory_order_acquire)->completed(native);
}

template <std::size_t... slots>
tgt_callback_fct Completions::callback_of(std::size_t slot, std::index_sequence<slots...>) {
  static constexpr std::array<tgt_callback_fct, kSlots> all{called_back<slots>...};
  return all[slot];
}

Completions* Completions::make(const Rtl& rtl) {
  static std::atomic<bool> watching{false};
  if (!watching.exchange(true))
    ::pthread_atfork(nullptr, nullptr, [] {
      ++forks;
      slots_used = 0; // the parent's plugins have no threads here
    });
  const std::size_t slot = slots_used.fetch_add(1);
  if (slot >= kSlots)
    die("plugin %s is one too many: %zu plugins with asynchronous functions are the most", rtl.name().c_str(), kSlots);
  auto* const made = new Completions(rtl);
  in_slot[slot].store(made, std::memory_order_release);
  rtl.call().init_dep(callback_of(slot, std::make_index_sequence<kSlots>()));
  return made;
}

Completions& Completions::of(const Rtl& rtl) {
  std::call_once(rtl.asked_, [&] { rtl.completions_ = make(rtl); });
  return *rtl.completions_;
}

// Its mutex may be held by a thread that is gone, and its plugin knows none of its events.
bool Completions::is_of_parent() const {
  return forks_before_ != forks;
}

// ---- what the plugin says ----

void Completions::completed(tgt_event_t native) {
  if (is_of_parent())
    return;
  std::function<void(std::string)> then;
  bool releases = false;
  {
    const Lock lock(mutex_);
    Entry& entry = entries_[native];
    entry.completed = true;
    if (observe::heard()) [[unlikely]]
      entry.at = std::chrono::steady_clock::now();
    then.swap(entry.then);
    if (then)
      --waited_for_;
    if (waiting_ > 0)
      changed_.notify_all();
    if (entry.released) {
      entries_.erase(native);
      ripe_.push_back(native);
      releases = !std::exchange(releasing_, true);
    }
  }
  if (then)
    finish(native, std::move(then));
  if (releases)
    core_workers::finish([this] { release_ripe(); });
}

void Completions::finish(tgt_event_t native, std::function<void(std::string)> then) {
  core_workers::finish([this, native, then = std::move(then)] { then(failure_of(native)); });
}

void Completions::release_ripe() {
  std::vector<tgt_event_t> ripe;
  {
    const Lock lock(mutex_);
    releasing_ = false;
    ripe.swap(ripe_);
  }
  for (const tgt_event_t native : ripe)
    rtl_.call().release_dep(native);
}

std::string Completions::describe(tgt_event_t native, std::int32_t error) {
  if (error == OMPTARGET_RTL_DEVICE_LOST) {
    const Lock lock(mutex_);
    entries_[native].lost = true;
  }
  return error == 0 ? std::string() : "error " + std::to_string(error) + rtl_.last_error();
}

// Of one that has completed.
std::string Completions::failure_of(tgt_event_t native) {
  const RtlFunctions& call = rtl_.call();
  if (call.query_event)
    if (const std::int32_t result = call.query_event(native); result != OMPTARGET_RTL_PENDING)
      return describe(native, result);
  return call.wait_event ? describe(native, call.wait_event(native)) : std::string();
}

// ---- what the core asks ----

void Completions::when_done(tgt_event_t native, std::function<void(std::string)> then) {
  if (is_of_parent())
    return;
  {
    const Lock lock(mutex_);
    Entry& entry = entries_[native];
    if (!entry.completed) {
      entry.then = std::move(then);
      ++waited_for_;
    }
  }
  if (then)
    finish(native, std::move(then));
  else
    keep_going();
}

std::string Completions::wait(tgt_event_t native) {
  if (is_of_parent())
    return {};
  const RtlFunctions& call = rtl_.call();
  if (call.wait_event)
    return describe(native, call.wait_event(native));
  Lock lock(mutex_);
  ++waiting_;
  Pause pause;
  while (!entries_[native].completed) {
    lock.unlock();
    const bool gets_on = call.process_dep() == 0;
    lock.lock();
    if (entries_[native].completed)
      break;
    if (gets_on) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    pause.take();
    lock.lock();
  }
  --waiting_;
  lock.unlock();
  return failure_of(native);
}

bool Completions::has_lost_device(tgt_event_t native) {
  const Lock lock(mutex_);
  const auto known = entries_.find(native);
  return known != entries_.end() && known->second.lost;
}

std::chrono::steady_clock::time_point Completions::ended_at(tgt_event_t native) {
  if (is_of_parent())
    return {};
  const Lock lock(mutex_);
  const auto known = entries_.find(native);
  return known == entries_.end() ? std::chrono::steady_clock::time_point() : known->second.at;
}

void Completions::release(tgt_event_t native) {
  if (is_of_parent())
    return;
  {
    const Lock lock(mutex_);
    if (Entry& entry = entries_[native]; !entry.completed) {
      entry.released = true;
      return;
    }
    entries_.erase(native);
  }
  rtl_.call().release_dep(native);
}

bool Completions::progress() {
  if (is_of_parent())
    return false;
  {
    const Lock lock(mutex_);
    if (waited_for_ == 0)
      return false;
  }
  return rtl_.call().process_dep() != 0;
}

void Completions::progress_all() {
  for (std::size_t slot = 0; slot < std::min(slots_used.load(), kSlots); ++slot)
    if (Completions* const one = in_slot[slot].load(std::memory_order_acquire))
      one->progress();
}

bool Completions::any_kernel_here() {
  for (std::size_t slot = 0; slot < std::min(slots_used.load(), kSlots); ++slot)
    if (const Completions* const one = in_slot[slot].load(std::memory_order_acquire))
      if (const auto in_kernel = one->rtl_.call().in_kernel; in_kernel && in_kernel() != 0)
        return true;
  return false;
}

// A plugin that gets on when it is called gets a thread that calls it, since the program need not.
void Completions::keep_going() {
  if (!progress())
    return;
  {
    const Lock lock(mutex_);
    changed_.notify_all();
    if (std::exchange(polled_, true))
      return;
  }
  try {
    std::thread([this] { poll(); }).detach();
  } catch (const std::system_error&) { // the next operation asks again; who waits polls itself
    const Lock lock(mutex_);
    polled_ = false;
  }
}

void Completions::poll() {
  for (;;) {
    {
      Lock lock(mutex_);
      changed_.wait(lock, [this] { return waited_for_ > 0; });
    }
    for (Pause pause; progress();)
      pause.take();
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // it gets on by itself for now
  }
}

} // namespace omptool
