// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests events of the core: their states, their callbacks and the threads of those, and that the plugin's event is
// released with them.
#include "rtl/completions.h"
#include "rtl/event.h"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using omptool::Event;
using omptool::EventPtr;
using omptool::Rtl;
using omptool::RtlFunctions;

namespace {

std::vector<tgt_event_t> released;
tgt_callback_fct call_back = nullptr;
int of_plugin = 0;
const tgt_event_t kNative = &of_plugin;

// Fake plugin without a file: it has only the functions that events call.
struct FakePlugin {
  FakePlugin() : plugin("fake", "/nowhere") {
    released.clear();
    auto& functions = const_cast<RtlFunctions&>(plugin.call());
    functions.init_dep = [](tgt_callback_fct callback) { call_back = callback; };
    functions.release_dep = [](tgt_event_t event) { released.push_back(event); };
    functions.process_dep = [] { return 0; };
    functions.enforce_dep = [](std::int32_t from, std::int32_t to, tgt_event_t) { return from + to < 10 ? 1 : 0; };
  }
  Rtl plugin;
};

} // namespace

TEST_CASE("an event is placed, queued, then done, and releases the plugin's event at its end") {
  const FakePlugin fake;
  EventPtr event = std::make_shared<Event>(&fake.plugin, 2);
  CHECK_FALSE(event->is_queued());
  CHECK_FALSE(event->is_done());
  CHECK(event->native() == nullptr);

  event->set_handed_over(kNative);
  CHECK(event->is_queued());
  CHECK_FALSE(event->is_done());
  CHECK(event->native() == kNative);

  event->set_done("it broke");
  CHECK(event->is_queued());
  CHECK(event->is_done());
  CHECK(event->failure() == "it broke");
  CHECK(event->native() == kNative);
  omptool::Completions::of(fake.plugin);
  call_back(kNative);
  CHECK(released.empty());
  event.reset();
  CHECK(released == std::vector<tgt_event_t>{kNative});
}

TEST_CASE("what is filled is so when the device says it, where somebody waits for that, and once") {
  const FakePlugin& fake = *new FakePlugin; // a worker may have the last share of the event
  static std::atomic<int> releases{0};
  const_cast<RtlFunctions&>(fake.plugin.call()).release_dep = [](tgt_event_t) { ++releases; };
  EventPtr event = std::make_shared<Event>(&fake.plugin, 0, Event::Kind::kFilled);
  event->set_handed_over(kNative);
  std::atomic<int> told{0};
  Event::when_operations_end(event, [&] { ++told; });
  Event::when_operations_end(event, [&] { ++told; });
  CHECK_FALSE(event->is_done());
  call_back(kNative);
  event->wait();
  event->set_done("later");
  CHECK(event->failure() == "");
  CHECK(event->wait_for_operations() == "");
  event.reset();
  while (told < 2 || releases == 0)
    std::this_thread::yield();
}

TEST_CASE("an event that was never queued has nothing to release") {
  const FakePlugin fake;
  EventPtr event = std::make_shared<Event>(&fake.plugin);
  event->set_done();
  CHECK(event->failure().empty());
  event.reset();
  CHECK(released.empty());
}

TEST_CASE("only what is queued on the same plugin, and can be enforced there, can be followed") {
  const FakePlugin fake;
  const FakePlugin other;
  const EventPtr event = std::make_shared<Event>(&fake.plugin, 3);
  CHECK_FALSE(event->can_follow(fake.plugin, 3));
  event->set_handed_over(kNative);
  CHECK(event->can_follow(fake.plugin, 3));
  CHECK_FALSE(event->can_follow(fake.plugin, 8));
  CHECK_FALSE(event->can_follow(other.plugin, 3));
  event->set_done();
  CHECK(event->can_follow(fake.plugin, 3));
}

TEST_CASE("continuations run once each, when their state is reached or at once") {
  const EventPtr event = std::make_shared<Event>();
  std::string told;
  event->when_queued([&] { told += "q"; });
  event->when_done([&] { told += "d"; });
  CHECK(told.empty());
  event->set_handed_over(nullptr);
  CHECK(told == "q");
  event->when_queued([&] { told += "Q"; });
  CHECK(told == "qQ");
  event->set_done();
  CHECK(told == "qQd");
  event->when_done([&] { told += "D"; });
  event->when_queued([&] { told += "Q"; });
  CHECK(told == "qQdDQ");
}

TEST_CASE("an event that is done without having been queued tells both, the queued ones first") {
  const EventPtr event = std::make_shared<Event>();
  std::string told;
  event->when_done([&] { told += "d"; });
  event->when_queued([&] { told += "q"; });
  event->set_done();
  CHECK(told == "qd");
}

TEST_CASE("a continuation may use its event, and may be its last owner") {
  EventPtr event = std::make_shared<Event>();
  Event* const raw = event.get();
  int done = 0;
  raw->when_done([&done, own = std::move(event), raw] {
    raw->wait();
    raw->when_done([&done] { ++done; });
    ++done;
  });
  const EventPtr also = [raw] {
    EventPtr held = std::make_shared<Event>();
    held->when_done([raw] { raw->set_done(); });
    return held;
  }();
  also->set_done();
  CHECK(done == 2);
}

TEST_CASE("threads that wait, ask and are told agree") {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    EventPtr event = std::make_shared<Event>();
    std::atomic<int> told{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&told, event] {
        event->when_queued([&told] { ++told; });
        event->when_done([&told] { ++told; });
        event->wait_queued();
        CHECK(event->is_queued());
        event->wait();
        CHECK(event->failure() == "x");
      });
    threads.emplace_back([event = std::move(event)] {
      event->set_handed_over(nullptr);
      event->set_done("x");
    });
    for (std::thread& thread : threads)
      thread.join();
    CHECK(told == 6);
  }
}
