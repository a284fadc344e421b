// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events between the devices of two plugins in one process, which the core bridges, and between those of one, which
// are the plugin's own to keep (decision 25).
#include "fakes/fakewaits.h"
#include "later.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>
#include <vector>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

extern "C" const char* omp_get_uid_from_device(int number);

namespace {

using Events = std::vector<tgt_event_t>;
using Environment = std::vector<std::string>;

// Both take the image; the fakes come first by name, so the devices of the host plugin follow theirs.
constexpr int kFakes = 0, kHosts = 1;
const struct {
  const char* name;
  const char* queues; // whether the host plugin has queues
} kPairs[] = {{"fakesync", "0"},    {"fakesync", "1"},  {"fakepolling", "0"},
              {"fakepolling", "1"}, {"fakewaits", "0"}, {"fakewaits", "1"}};

Environment pair_of(const std::string& fake, const std::string& queues) {
  return {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/" + fake, "OMPTOOL_PLUGINS=" + fake + ",host",
          "OMPTOOL_HOST_QUEUES=" + queues};
}

// Runs the scenario on each pair; it ends well, and says nothing.
void check_on_pairs(const std::string& name) {
  for (const auto& [fake, queues] : kPairs) {
    const Outcome outcome = run_scenario(name, pair_of(fake, queues));
    CAPTURE(fake);
    CAPTURE(queues);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "");
  }
}

void use_both() {
  use_main();
}

Row bits(long number) {
  return value(static_cast<std::uintptr_t>(number));
}
Row ones(auto& number) {
  return row(number, TOFROM | REF);
}

std::atomic<int> called_back{0};
tgt_callback_param_t some_parameter() {
  return &called_back;
}
void count_callback(tgt_callback_param_t) {
  ++called_back;
}

// Ends when the gate opens.
tgt_event_t held_region(int& number, Gate& gate, int device, const Events& after = {}) {
  return Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later, after, device);
}

} // namespace

// ---- two plugins ----

SCENARIO_OF(pair_of_plugins) {
  use_both();
  EXPECT(omp_get_num_devices() == 2);
  for (const int device : {kFakes, kHosts})
    std::printf("%s\n", omp_get_uid_from_device(device));
  return 0;
}

TEST_CASE("a fake and the host plugin have a device each") {
  for (const auto& [fake, queues] : kPairs) {
    const Outcome outcome = run_scenario("pair_of_plugins", pair_of(fake, queues));
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == std::string(fake) + "-0\nhost-0\n");
  }
}

// The host has what one device computes when the other takes it over: steps that no other order makes.
SCENARIO_OF(pair_chain) {
  use_both();
  __tgt_init_dep(count_callback);
  constexpr int kSteps = 30;
  static long number = 1;
  long expected = 1;
  Events all;
  int before = kHosts;
  for (int i = 0; i < kSteps; ++i) {
    const int device = i % 5 < 3 ? i % 2 : kHosts; // back and forth, and twice on the same
    const tgt_event_t last = all.empty() ? nullptr : all.back();
    EXPECT(__tgt_enforce_dep(before, device, last) != 0);
    all.push_back(
        Rows{ones(number), bits(3), bits(i)}.region_later(&host::times_plus, {last}, device, some_parameter()));
    expected = expected * 3 + i;
    before = device;
  }
  finish_all();
  EXPECT(number == expected);
  EXPECT(called_back == kSteps);
  for (const tgt_event_t event : all) {
    EXPECT(__tgt_enforce_dep(kFakes, kHosts, event) != 0);
    EXPECT(__tgt_enforce_dep(kHosts, kFakes, event) != 0);
    __tgt_release_dep(event);
  }
  return 0;
}

TEST_CASE("regions that take turns on devices of two plugins see what the one before has computed") {
  check_on_pairs("pair_chain");
}

static int held_number = 1;

// From one device to the other and back, all queued while the first has yet to end.
static int hold_chain(int from, int to) {
  held_number = 1;
  Gate gate;
  Rows here{row(held_number, FROM)}, there{ones(held_number)};
  const tgt_event_t came = Rows{ones(held_number)}.begin_later({}, from);
  const tgt_event_t held = held_region(held_number, gate, from, {came});
  const tgt_event_t got = here.update_later({held}, from);
  const tgt_event_t sent = there.begin_later({got}, to);
  const tgt_event_t added = Rows{ones(held_number), bits(1)}.region_later(&host::add_one, {sent}, to);
  const tgt_event_t left = there.end_later({added}, to);
  const tgt_event_t back = Rows{row(held_number, TO)}.update_later({left}, from);
  const tgt_event_t again = Rows{ones(held_number), bits(1)}.region_later(&host::add_ten, {back}, from);
  const tgt_event_t gone = Rows{ones(held_number)}.end_later({again}, from);
  EXPECT(soon([&] { return gate.has_begun(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(5)); // what does not wait would show
  EXPECT(unwatched(held_number) == 1);
  EXPECT(__tgt_enforce_dep(from, to, held) != 0); // though it has not ended
  gate.open();
  finish_all();
  EXPECT(held_number == 22);
  for (const tgt_event_t event : {came, held, got, sent, added, left, back, again, gone})
    __tgt_release_dep(event);
  return 0;
}

SCENARIO_OF(pair_data) {
  use_both();
  EXPECT(hold_chain(kFakes, kHosts) == 0);
  EXPECT(hold_chain(kHosts, kFakes) == 0);
  return 0;
}

TEST_CASE("data calls and regions go from one plugin to the other and back, behind what has not ended") {
  check_on_pairs("pair_data");
}

// One region after events of both plugins, in either order, whichever ends first.
static int join_both(int device, int first, bool first_ends_first) {
  static int numbers[2], both;
  numbers[0] = numbers[1] = both = 0;
  Gate gates[2];
  Events held;
  for (const int at : {first, 1 - first})
    held.push_back(held_region(numbers[at], gates[at], at));
  const tgt_event_t joined =
      Rows{ones(both), bits(1)}.region_later(&host::add_one, {held[0], nullptr, held[1]}, device);
  const int ends = first_ends_first ? first : 1 - first;
  EXPECT(soon([&] { return gates[0].has_begun() && gates[1].has_begun(); }));
  gates[ends].open();
  EXPECT(soon([&] { return unwatched(numbers[ends]) == 10; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT(unwatched(both) == 0);
  gates[1 - ends].open();
  finish_all();
  EXPECT(both == 1);
  EXPECT(numbers[0] == 10 && numbers[1] == 10);
  for (const tgt_event_t event : {held[0], held[1], joined})
    __tgt_release_dep(event);
  return 0;
}

SCENARIO_OF(pair_join) {
  use_both();
  for (const int device : {kFakes, kHosts})
    for (const int first : {kFakes, kHosts})
      for (const bool first_ends_first : {true, false})
        EXPECT(join_both(device, first, first_ends_first) == 0);
  return 0;
}

TEST_CASE("a region comes after events of both plugins") {
  check_on_pairs("pair_join");
}

SCENARIO_OF(pair_falls_back) {
  use_both();
  static int number = 1;
  for (const int device : {kFakes, kHosts}) {
    const int before = number;
    Gate gate;
    const tgt_event_t held = held_region(number, gate, device);
    const tgt_event_t added = Rows{ones(number), bits(1)}.region_later(&host::add_one, {held}, device);
    EXPECT(soon([&] { return gate.has_begun(); }));
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      gate.open();
    });
    std::int32_t result = 0;
    EXPECT((Rows{ones(number)}.region_later(&host::absent, {added}, 1 - device, nullptr, &result) == nullptr));
    EXPECT(result != 0);
    EXPECT(number == before + 11);
    opener.join();
  }
  return 0;
}

TEST_CASE("the host version of a region comes after an event of another plugin") {
  for (const auto& [fake, queues] : kPairs) {
    const Outcome outcome = run_scenario("pair_falls_back", pair_of(fake, queues));
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
  }
}

static int exit_number = 1;
SCENARIO_OF(pair_exits) {
  use_both();
  std::atexit([] { std::fprintf(stderr, exit_number == 9 ? "" : "it has exited before its calls\n"); });
  tgt_event_t last = nullptr;
  for (int i = 0; i < 8; ++i)
    last = Rows{ones(exit_number), bits(1)}.region_later(&host::add_one, {last}, i % 2);
  return 0;
}

TEST_CASE("what goes back and forth between two plugins is done when the program exits") {
  check_on_pairs("pair_exits");
}

SCENARIO_OF(pair_faults) {
  use_both();
  static int number = 1;
  for (const int device : {kFakes, kHosts}) {
    const int other = 1 - device;
    const tgt_event_t gone = Rows{ones(number), bits(1)}.region_later(&host::add_one, {}, device);
    finish_all();
    __tgt_release_dep(gone);
    EXPECT(__tgt_enforce_dep(device, other, gone) == 0);
    EXPECT(__tgt_enforce_dep(device, other, &number) == 0);
    std::int32_t result = 0;
    EXPECT((Rows{ones(number), bits(1)}.region_later(&host::add_one, {gone}, other, nullptr, &result) == nullptr));
    EXPECT(result != 0);
    const tgt_event_t live = Rows{ones(number), bits(1)}.region_later(&host::add_one, {}, device);
    EXPECT(__tgt_enforce_dep(device, 2, live) == 0); // the host
    EXPECT(__tgt_enforce_dep(17, other, live) == 0);
    __tgt_release_dep(live);
    finish_all();
  }
  EXPECT(number == 5);
  return 0;
}

TEST_CASE("a released or unknown event is said, whatever its plugin") {
  for (const auto& [fake, queues] : kPairs) {
    const Outcome outcome = run_scenario("pair_faults", pair_of(fake, queues));
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    for (const char* line : {"__tgt_enforce_dep: event 0x", " has been released; the program has to order",
                             " is no event of this runtime; the program has to order",
                             "region add_one runs on the host: __tgt_target_async: event 0x"})
      CHECK_MESSAGE(outcome.has(line), line << " is not in\n" << outcome.output);
  }
}

// ---- who keeps the order ----

// While the first is held: what is queued behind it on the fake, on another device of it, and on the host plugin.
SCENARIO_OF(pair_hands_over) {
  use_both();
  constexpr int kOther = 1, kHost = 2;
  EXPECT(omp_get_num_devices() == 4);
  for (int device = 0; device < 4; ++device)
    EXPECT(Rows({}).region(&host::nothing, device) == 0);
  static int first = 1, second = 1;
  const auto counts = [] { return counts_of_fakewaits(TEST_FOLDER); };
  Gate gate;
  const tgt_event_t held = held_region(first, gate, 0);
  EXPECT(soon([&] { return gate.has_begun(); }));
  const FakeWaits before = counts();
  Events events{held};
  for (const int device : {0, kOther}) {
    const long made = counts().made;
    events.push_back(Rows{ones(second), bits(1)}.region_later(&host::add_one, {events.back()}, device));
    EXPECT(counts().made >= made + 3); // a copy, the kernel, the copy back
  }
  // The host has to wait before the other plugin gets it, and so has what comes after that.
  events.push_back(Rows{ones(second), bits(1)}.region_later(&host::add_one, {events.back()}, kHost));
  const long made = counts().made;
  events.push_back(Rows{ones(second), bits(1)}.region_later(&host::add_one, {events.back()}, 0));
  EXPECT(counts().made == made);
  EXPECT(counts().waits == before.waits);
  EXPECT(unwatched(second) == 1);
  gate.open();
  finish_all();
  EXPECT(counts().made >= made + 3);
  EXPECT(counts().waits == before.waits);
  EXPECT(first == 11 && second == 5);
  for (const tgt_event_t event : events)
    __tgt_release_dep(event);
  return 0;
}

TEST_CASE("what comes after an event of its own plugin is handed over at once, after another's when that has ended") {
  for (const char* queues : {"0", "1"}) {
    Environment two = pair_of("fakewaits", queues);
    two.emplace_back("OMPTOOL_HOST_DEVICES=2");
    const Outcome outcome = run_scenario("pair_hands_over", two);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "");
  }
}

TEST_SUITE_END();
