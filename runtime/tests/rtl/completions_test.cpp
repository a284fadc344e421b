// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what the core makes of a plugin's callbacks: early ones, late ones, none without a push, failures, releases.
#include "rtl/completions.h"
#include "rtl/core_workers.h"
#include "rtl/rtl.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using omptool::Completions;
using omptool::Rtl;
using omptool::RtlFunctions;

namespace {

// State of the one plugin that exists at a time.
struct State {
  std::mutex mutex;
  tgt_callback_fct callback = nullptr;
  int initialised = 0;
  std::vector<tgt_event_t> released, to_push; // the latter are called back by process_dep
  std::map<tgt_event_t, std::int32_t> results;
  std::atomic<int> pushes{0};
};
// Current state. Atomic, because the thread that calls the previous plugin may still read it.
class Current {
public:
  State* operator->() const { return get(); }
  State* get() const { return one_.load(); }
  void set(State* one) { one_ = one; }

private:
  std::atomic<State*> one_{nullptr};
} state;

// Fake plugin without a file: it has only the functions that completions need.
struct FakePlugin {
  enum class Kind { kCallsBack, kIsAsked, kIsPushed };
  explicit FakePlugin(Kind kind) : plugin("fake", "/nowhere") {
    static std::deque<State>& all = *new std::deque<State>; // threads may look at them until the end
    state.set(&all.emplace_back());
    auto& call = const_cast<RtlFunctions&>(plugin.call());
    call.init_dep = [](tgt_callback_fct callback) {
      state->callback = callback;
      ++state->initialised;
    };
    call.release_dep = [](tgt_event_t event) {
      const std::lock_guard lock(state->mutex);
      state->released.push_back(event);
    };
    call.process_dep = [] { return 0; };
    if (kind == Kind::kIsPushed)
      call.process_dep = push;
    if (kind == Kind::kIsAsked)
      call.query_event = [](tgt_event_t event) { return state->results[event]; };
    if (kind == Kind::kIsAsked)
      call.last_error = []() -> const char* { return "it broke"; };
  }
  static std::int32_t push() {
    State& now = *state.get();
    const std::lock_guard lock(now.mutex);
    if (++now.pushes % 3 == 0 && !now.to_push.empty()) {
      now.callback(now.to_push.back());
      now.to_push.pop_back();
    }
    return 1;
  }
  Completions& completions() { return Completions::of(plugin); }
  Rtl plugin;
};

tgt_event_t event(std::uintptr_t number) {
  return reinterpret_cast<tgt_event_t>(number);
}

bool soon(const auto& is_so) {
  for (int i = 0; i < 5000 && !is_so(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return is_so();
}

bool is_released(tgt_event_t which) {
  const std::lock_guard lock(state->mutex);
  return std::find(state->released.begin(), state->released.end(), which) != state->released.end();
}

} // namespace

TEST_CASE("a plugin is told once whom to call") {
  FakePlugin fake(FakePlugin::Kind::kCallsBack);
  Completions& first = fake.completions();
  CHECK(&first == &fake.completions());
  CHECK(state->initialised == 1);
}

TEST_CASE("a callback that comes before anybody waits is kept, and what follows runs on a worker") {
  FakePlugin fake(FakePlugin::Kind::kCallsBack);
  Completions& completions = fake.completions();
  std::atomic<int> early{0}, late{0};
  state->callback(event(1));
  completions.when_done(event(1), [&](const std::string& failure) {
    CHECK(omptool::core_workers::here());
    CHECK(failure.empty());
    ++early;
  });
  completions.when_done(event(2), [&](const std::string&) { ++late; });
  CHECK(soon([&] { return early == 1; }));
  CHECK(late == 0);
  state->callback(event(2));
  CHECK(soon([&] { return late == 1; }));
  CHECK_FALSE(omptool::core_workers::here());
}

TEST_CASE("an event is released once it has been called back, so that its address means it until then") {
  FakePlugin fake(FakePlugin::Kind::kCallsBack);
  Completions& completions = fake.completions();
  completions.release(event(1));
  CHECK(state->released.empty());
  state->callback(event(1));
  CHECK(soon([] { return is_released(event(1)); }));
  // Counts callbacks for an event whose address is free again.
  std::atomic<int> done{0};
  completions.when_done(event(1), [&](const std::string&) { ++done; });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(done == 0);
  state->callback(event(1));
  CHECK(soon([&] { return done == 1; }));
  completions.release(event(1));
  CHECK(state->released.size() == 2);
}

TEST_CASE("a plugin that can be asked says what has failed") {
  FakePlugin fake(FakePlugin::Kind::kIsAsked);
  Completions& completions = fake.completions();
  state->results = {{event(1), 0}, {event(2), 7}};
  std::string failures;
  std::atomic<int> done{0};
  for (const std::uintptr_t i : {1U, 2U}) {
    completions.when_done(event(i), [&](const std::string& failure) {
      failures += "[" + failure + "]";
      ++done;
    });
    state->callback(event(i));
    CHECK(soon([&] { return done == static_cast<int>(i); }));
  }
  CHECK(failures == "[][error 7 (it broke)]");
}

TEST_CASE("a plugin that gets on only when it is called is called, whether somebody blocks or not") {
  FakePlugin fake(FakePlugin::Kind::kIsPushed);
  Completions& completions = fake.completions();
  for (std::uintptr_t round = 1; round < 4; ++round) {
    std::atomic<int> done{0};
    {
      const std::lock_guard lock(state->mutex);
      state->to_push.push_back(event(round));
    }
    completions.when_done(event(round), [&](const std::string&) { ++done; });
    CHECK(soon([&] { return done == 1; }));
  }
  {
    const std::lock_guard lock(state->mutex);
    state->to_push.push_back(event(9));
  }
  CHECK(completions.wait(event(9)).empty());
  CHECK_FALSE(completions.progress());
  std::this_thread::sleep_for(std::chrono::milliseconds(5)); // for what is called when nothing is waited for
  const int before = state->pushes;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(state->pushes == before);
}

TEST_CASE("while one operation takes long, the ends of others that come after it are seen soon") {
  using Clock = std::chrono::steady_clock;
  FakePlugin fake(FakePlugin::Kind::kIsPushed);
  Completions& completions = fake.completions();
  std::atomic<bool> long_one{false};
  completions.when_done(event(1), [&](const std::string&) { long_one = true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(40)); // naps are as long as they get
  Clock::duration best = Clock::duration::max();
  for (std::uintptr_t round = 2; round < 42; ++round) {
    std::atomic<bool> done{false};
    const Clock::time_point began = Clock::now();
    {
      const std::lock_guard lock(state->mutex);
      state->to_push.push_back(event(round));
    }
    completions.when_done(event(round), [&](const std::string&) { done = true; });
    while (!done)
      std::this_thread::yield();
    best = std::min(best, Clock::now() - began);
  }
  CHECK(best < std::chrono::microseconds(900)); // three calls with the longest naps between them take 2 ms
  CHECK_FALSE(long_one);
  {
    const std::lock_guard lock(state->mutex);
    state->to_push.push_back(event(1));
  }
  CHECK(soon([&] { return long_one.load(); }));
}

TEST_CASE("whoever blocks for an event sees its callback from another thread") {
  FakePlugin fake(FakePlugin::Kind::kCallsBack);
  Completions& completions = fake.completions();
  for (std::uintptr_t i = 1; i < 50; ++i) {
    std::thread other([i] { state->callback(event(i)); });
    CHECK(completions.wait(event(i)).empty());
    other.join();
    completions.release(event(i));
  }
  CHECK(state->released.size() == 49);
}

TEST_CASE("two plugins may use one address for their events") {
  FakePlugin one(FakePlugin::Kind::kCallsBack);
  State* const of_one = state.get();
  Completions& first = one.completions();
  FakePlugin other(FakePlugin::Kind::kCallsBack);
  std::atomic<int> ones{0}, others{0};
  first.when_done(event(5), [&](const std::string&) { ++ones; });
  other.completions().when_done(event(5), [&](const std::string&) { ++others; });
  state->callback(event(5));
  CHECK(soon([&] { return others == 1; }));
  CHECK(ones == 0);
  of_one->callback(event(5));
  CHECK(soon([&] { return ones == 1; }));
}
