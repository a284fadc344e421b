// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of a construct on a plugin that fails in ways of its own.
#include "rtl/command_list.h"

#include <doctest/doctest.h>
#include <string>

using omptool::CommandList;
using omptool::DeviceMemory;
using omptool::Event;
using omptool::EventPtr;
using omptool::Rtl;
using omptool::RtlFunctions;

namespace {

constexpr std::int32_t kFailure = 7;
int fills = 0;

tgt_event_t made() {
  static int last = 0;
  static int some[64];
  return &some[last++ % 64];
}

// No file. Copies are queued, and fail then; nothing can be queued behind them.
struct FailingPlugin {
  FailingPlugin() : plugin("failing", "/nowhere"), memory(plugin, 0) {
    auto& functions = const_cast<RtlFunctions&>(plugin.call());
    functions.data_alloc = [](std::int32_t, std::int64_t) -> void* { return nullptr; };
    functions.data_fill = [](std::int32_t, void*, std::int32_t, std::int64_t) -> std::int32_t { return ++fills, 0; };
    functions.init_dep = [](tgt_callback_fct) {};
    functions.release_dep = [](tgt_event_t) {};
    functions.process_dep = []() -> std::int32_t { return 0; };
    functions.enforce_dep = [](std::int32_t, std::int32_t, tgt_event_t) -> std::int32_t { return 1; };
    functions.wait_event = [](tgt_event_t) { return kFailure; };
    functions.async_dep = [](std::int32_t, std::int32_t, tgt_event_t*, tgt_event_t*) -> std::int32_t { return 1; };
    functions.async_data_submit = [](std::int32_t, void*, void*, std::int64_t, std::int32_t, tgt_event_t*,
                                     tgt_event_t* event) -> std::int32_t { return *event = made(), 0; };
    functions.async_data_fill = [](std::int32_t, void*, std::int32_t, std::int64_t, std::int32_t, tgt_event_t*,
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
  CommandList commands(fake.memory, CommandList::Use::kLater);
  const EventPtr filled = commands.filled(), ended = commands.ended();
  REQUIRE(commands.submit(&here, &here, sizeof here));
  commands.set_handed_over();
  CHECK(filled->is_queued());
  CHECK(ended->is_done());
  CHECK(ended->failure().find("error 7") != std::string::npos);
  CHECK(commands.wait().find("error 7") != std::string::npos);
  CHECK(commands.wait() == ""); // once
}

TEST_CASE("what comes after a failure is not done in another way") {
  const FailingPlugin fake;
  int here = 0;
  CommandList commands(fake.memory);
  const EventPtr before = std::make_shared<Event>();
  before->set_done("it broke");
  commands.after(before);
  fills = 0;
  CHECK_FALSE(commands.fill(&here, 1, sizeof here));
  CHECK(fills == 0);
  CHECK(commands.failure() == " (it broke)");
}
