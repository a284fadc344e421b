// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends programs whose kernels end them, or that have asynchronous calls under way.
#include "asynchronous.h"
#include "machine.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>
#include <thread>
#include <unistd.h>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

void check_code(const std::string& scenario, int code) {
  for (const Environment& plugin : kPlugins) {
    const Outcome outcome = run_scenario(scenario, plugin);
    CAPTURE(plugin.back());
    CHECK_MESSAGE(outcome.code == code, outcome.output);
  }
}

} // namespace

static int at_exit_number = 1;
static std::atomic<bool> at_exit_called{false};

SCENARIO_OF(async_exits) {
  use_main();
  std::atexit([] {
    const bool right = at_exit_number == 6 && at_exit_called;
    std::fprintf(stderr, "%s", right ? "" : "the program has exited before its calls\n");
  });
  __tgt_init_dep([](tgt_callback_param_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    at_exit_called = true;
  });
  Rows region{ones(at_exit_number), value(1)};
  tgt_event_t last = nullptr;
  for (int i = 0; i < 5; ++i)
    last = region.region_later(&host::add_one, {last}, -1, i == 4 ? param(1) : nullptr);
  return 0;
}

TEST_CASE("a program that neither waits nor polls has its calls done when it exits") {
  check_everywhere("async_exits");
}

SCENARIO_OF(async_exit_in_callback) {
  use_main();
  __tgt_init_dep([](tgt_callback_param_t) { std::exit(7); });
  static int number = 1;
  Rows{ones(number), value(1)}.region_later(&host::add_one, {}, -1, param(1));
  for (;;)
    ::pause();
}

TEST_CASE("a callback may end the program") {
  check_code("async_exit_in_callback", 7);
}

static int exit_number = 1;

SCENARIO_OF(async_exit_in_kernel) {
  use_main();
  void (*const end)() = [] { std::exit(7); };
  const tgt_event_t first =
      Rows{ones(exit_number), value(reinterpret_cast<std::uintptr_t>(end))}.region_later(&host::call_host);
  Rows{ones(exit_number), value(1)}.region_later(&host::add_one, {first}); // which never has its turn
  for (;;)
    ::pause();
}

TEST_CASE("a kernel of an asynchronous call may end the program") {
  check_code("async_exit_in_kernel", 7);
}

SCENARIO_OF(async_exit_in_region) {
  use_main();
  void (*const end)() = [] {
    Rows{ones(exit_number), value(1)}.region_later(&host::add_one); // comes after the region
    std::exit(7);
  };
  Rows{ones(exit_number), value(reinterpret_cast<std::uintptr_t>(end))}.region(&host::call_host);
  return 1;
}

TEST_CASE("a kernel of a region may end the program while calls wait for the region") {
  check_code("async_exit_in_region", 7);
}

SCENARIO_OF(kernel_faults) {
  use_main();
  void (*const trap)() = [] { __builtin_trap(); };
  Rows{ones(exit_number), value(reinterpret_cast<std::uintptr_t>(trap))}.region(&host::call_host);
  return 1;
}

TEST_CASE("a kernel that faults is named, and the signal ends the program") {
  for (const Environment& plugin : kPlugins) {
    const Outcome outcome = run_scenario("kernel_faults", plugin);
    CAPTURE(plugin.back());
    CHECK_MESSAGE(outcome.signal == omptool::machine::kTrap.number, outcome.output);
    CHECK_MESSAGE(
        outcome.has(std::string("omptarget: kernel call_host ends by ") + omptool::machine::kTrap.name + " at 0x"),
        outcome.output);
  }
}

SCENARIO_OF(trap_outside) {
  use_main();
  Rows{ones(exit_number), value(1)}.region(&host::add_one);
  __builtin_trap();
}

TEST_CASE("a fault outside of kernels is none of a kernel's") {
  const Outcome outcome = run_scenario("trap_outside");
  CHECK(outcome.signal == omptool::machine::kTrap.number);
  CHECK(outcome.output == "");
}

TEST_SUITE_END();
