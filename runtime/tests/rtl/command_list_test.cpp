// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of a construct on a plugin that fails in ways of its own.
#include "rtl/command_list.h"

#include <algorithm>
#include <chrono>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using omptool::CommandList;
using omptool::DeviceMemory;
using omptool::Event;
using omptool::EventPtr;
using omptool::Rtl;
using omptool::RtlFunctions;

namespace {

constexpr std::int32_t kFailure = 7;
int submits = 0; // by the synchronous function

tgt_event_t made() {
  static int last = 0;
  static int some[64];
  return &some[last++ % 64];
}

// Failing plugin without a file: its copies are queued, and fail then; nothing can be queued behind them.
struct FailingPlugin {
  FailingPlugin() : plugin("failing", "/nowhere"), memory(plugin, 0) {
    auto& functions = const_cast<RtlFunctions&>(plugin.call());
    functions.data_alloc = [](std::int32_t, std::int64_t) -> void* { return nullptr; };
    functions.data_submit = [](std::int32_t, void*, void*, std::int64_t) -> std::int32_t { return ++submits, 0; };
    functions.init_dep = [](tgt_callback_fct) {};
    functions.release_dep = [](tgt_event_t) {};
    functions.process_dep = []() -> std::int32_t { return 0; };
    functions.enforce_dep = [](std::int32_t, std::int32_t, tgt_event_t) -> std::int32_t { return 1; };
    functions.wait_event = [](tgt_event_t) { return kFailure; };
    functions.async_dep = [](std::int32_t, std::int32_t, tgt_event_t*, tgt_event_t*) -> std::int32_t { return 1; };
    functions.async_data_submit = [](std::int32_t, void*, void*, std::int64_t, std::int32_t, tgt_event_t*,
                                     tgt_event_t* event) -> std::int32_t { return *event = made(), 0; };
    memory.shares_host_memory();
  }
  Rtl plugin;
  DeviceMemory memory;
};

} // namespace

TEST_CASE("a failure is told, though the device takes nothing more that could come after it") {
  const FailingPlugin fake;
  int here = 0;
  CommandList commands(fake.memory, omptool::Waits::kLater);
  const EventPtr filled = commands.filled(), ended = commands.ended();
  REQUIRE(commands.submit(&here, &here, sizeof here));
  commands.set_handed_over();
  CHECK(filled->is_queued());
  CHECK(ended->is_done());
  CHECK(ended->failure().find("error 7") != std::string::npos);
  CHECK(commands.wait().find("error 7") != std::string::npos);
  CHECK(commands.wait() == ""); // once
}

namespace {

// The ends of operations, as they are reported.
struct Ends final : omptool::observe::Listener {
  Ends() { omptool::observe::subscribe(*this, omptool::observe::kHeard); }
  void hear(const omptool::observe::Event& event) override {
    if (const auto* const ended = omptool::observe::as<omptool::observe::OperationEnds>(event))
      operations.push_back(ended->operation);
  }
  std::vector<omptool::observe::Operation> operations;
};

// Returns the time in nanoseconds since the first call.
std::uint64_t time_of(std::int64_t nanoseconds) {
  static const auto first = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(first.count() + nanoseconds);
}

} // namespace

TEST_CASE("operations have the times that their plugin knows, and none overlaps the one before it") {
  const FailingPlugin fake;
  auto& functions = const_cast<RtlFunctions&>(fake.plugin.call());
  functions.wait_event = [](tgt_event_t) { return 0; };
  functions.event_times = [](tgt_event_t, std::uint64_t* began, std::uint64_t* ended) -> std::int32_t {
    static constexpr std::int64_t kBegan[] = {-1'000'000'000, 2'000'000'000, 2'500'000'000},
                                  kEnded[] = {1'000'000'000, 3'000'000'000, 2'900'000'000};
    static int asked = 0;
    *began = time_of(kBegan[asked]);
    *ended = time_of(kEnded[asked]);
    return ++asked;
  };
  int here = 0;
  time_of(0);
  Ends ends;
  CommandList commands(fake.memory);
  for (int i = 0; i < 3; ++i)
    REQUIRE(commands.submit(&here, &here, sizeof here));
  CHECK(commands.wait() == "");
  omptool::observe::unsubscribe(ends);
  std::erase_if(ends.operations,
                [](const auto& one) { return one.kind != omptool::observe::Operation::Kind::kToDevice; });
  REQUIRE(ends.operations.size() == 3);
  const auto at = [&](const auto& point) { return static_cast<std::uint64_t>(point.time_since_epoch().count()); };
  CHECK(at(ends.operations[0].began) >= time_of(0)); // it was not asked for before
  CHECK(at(ends.operations[0].ended) == time_of(1'000'000'000));
  CHECK(at(ends.operations[1].began) == time_of(2'000'000'000));
  CHECK(at(ends.operations[1].ended) == time_of(3'000'000'000));
  CHECK(at(ends.operations[2].began) == time_of(3'000'000'000));
  CHECK(at(ends.operations[2].ended) == time_of(3'000'000'000));
}

TEST_CASE("what comes after a failure is not done in another way") {
  const FailingPlugin fake;
  int here = 0;
  CommandList commands(fake.memory);
  const EventPtr before = std::make_shared<Event>();
  before->set_done("it broke");
  commands.after(before);
  submits = 0;
  CHECK_FALSE(commands.submit(&here, &here, sizeof here));
  CHECK(submits == 0);
  CHECK(commands.failure() == " (it broke)");
}
