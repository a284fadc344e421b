// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the document's asynchronous calls: callbacks, results of malformed calls, and calls without any device.
#include "asynchronous.h"

#include <chrono>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

// ---- callbacks ----

static Rows& chain_region() {
  static int number = 0;
  static Rows& region = *new Rows{ones(number), value(1)};
  return region;
}

SCENARIO_OF(async_callbacks_call) {
  use_main();
  __tgt_init_dep([](tgt_callback_param_t left) {
    const std::uintptr_t more = reinterpret_cast<std::uintptr_t>(left) - 1;
    while (__tgt_process_dep() != 0) // of what this waits for there is nothing left
      ;
    if (more > 0)
      __tgt_release_dep(chain_region().region_later(&host::add_one, {}, -1, param(more)));
    ++called_back;
  });
  chain_region().region_later(&host::add_one, {}, -1, param(100));
  finish_all();
  EXPECT(called_back == 100);
  EXPECT(*static_cast<int*>(chain_region().base(0)) == 100);
  return 0;
}

TEST_CASE("callbacks make calls, and poll") {
  check_everywhere("async_callbacks_call");
}

SCENARIO_OF(async_who_is_called) {
  use_main();
  static int number = 1;
  Rows region{ones(number), value(1)};
  region.region_later(&host::add_one, {}, -1, param(1)); // nobody has said whom to call
  finish_all();
  __tgt_init_dep(count_callback);
  region.region_later(&host::add_one);
  region.region_later(&host::add_one, {}, -1, param(1));
  finish_all();
  EXPECT(called_back == 1);
  __tgt_init_dep(nullptr);
  region.region_later(&host::add_one, {}, -1, param(1));
  finish_all();
  EXPECT(called_back == 1);
  EXPECT(number == 5);
  return 0;
}

TEST_CASE("a call without a parameter is not called back, nor one before or after there is a callback") {
  check_everywhere("async_who_is_called");
}

// ---- faults ----

SCENARIO_OF(async_faults) {
  use_main();
  __tgt_init_dep(count_callback);
  static int number = 1;
  Rows region{ones(number), value(1)}, data{ones(number)};
  const tgt_event_t gone = region.region_later(&host::add_one);
  finish_all();
  __tgt_release_dep(gone);
  std::int32_t result = 0;
  EXPECT(region.region_later(&host::add_one, {nullptr, gone}, -1, param(1), &result) == nullptr);
  EXPECT(result != 0);
  EXPECT(region.region_later(&host::add_one, {&number}, -1, param(1), &result) == nullptr);
  EXPECT(result != 0);
  const tgt_event_t completes = data.begin_later({gone}, -1, param(5));
  EXPECT(completes);
  EXPECT(omp_target_is_present(&number, 0) == 0);
  finish_all();
  EXPECT(params == 5);
  EXPECT(__tgt_enforce_dep(0, 0, gone) == 0);
  EXPECT(__tgt_enforce_dep(0, 0, &number) == 0);
  EXPECT(__tgt_enforce_dep(0, 0, completes) != 0);
  __tgt_release_dep(completes);
  __tgt_release_dep(completes);
  __tgt_release_dep(nullptr);
  __tgt_target_async_data_begin(-1, 0, nullptr, nullptr, nullptr, nullptr, -1, nullptr, nullptr, param(6));
  EXPECT(__tgt_target_async(-1, &host::nothing, 0, nullptr, nullptr, nullptr, nullptr, 2, nullptr, nullptr, param(7)) !=
         0);
  EXPECT(Rows({row(number, 0x4000)}).region_later(&host::nothing, {}, -1, param(8), &result) == nullptr);
  EXPECT(result != 0);
  EXPECT((Rows{row(number, 0x4000)}.begin_later({}, -1, param(9))));
  finish_all();
  EXPECT(params == 5 + 6 + 9);
  EXPECT(number == 2);
  return 0;
}

TEST_CASE("events that are none, and malformed calls, are said; data calls complete all the same") {
  for (const Environment& plugin : kPlugins) {
    const Outcome outcome = run_scenario("async_faults", plugin);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    for (const char* line :
         {"region add_one runs on the host: __tgt_target_async: event 0x", " has been released\n",
          "__tgt_target_async_data_begin: event 0x", " has been released; the call is ignored\n",
          " is no event of this runtime\n", "__tgt_enforce_dep: event 0x",
          " has been released; the program has to order the calls after it\n", "__tgt_release_dep: event 0x",
          "__tgt_target_async_data_begin: the call has -1 dependences, but no array of them; the call is ignored\n",
          "region nothing runs on the host: __tgt_target_async: the call has 2 dependences, but no array of them\n",
          "__tgt_target_async: row 0 has an unknown bit in its map type",
          "__tgt_target_async_data_begin: row 0 has an unknown bit in its map type"})
      CHECK_MESSAGE(outcome.has(line), line << " is not in\n" << outcome.output);
  }
}

SCENARIO_OF(async_refused) {
  use_main();
  __tgt_init_dep(count_callback);
  static int number = 1;
  Gate gate;
  Rows{ones(number)}.begin_later({}, -1, param(1));
  const tgt_event_t first =
      Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later, {}, -1, param(10));
  std::thread opener([&] {
    soon([&] { return gate.has_begun(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
  });
  std::int32_t result = 0;
  tgt_event_t event = Rows{ones(number), value(1)}.region_later(&host::absent, {first}, -1, param(100), &result);
  EXPECT(result != 0 && event == nullptr);
  EXPECT(number == 11); // ready for the host version
  opener.join();
  Rows{ones(number)}.end_later({}, -1, param(10000));
  finish_all();
  EXPECT(number == 11);
  EXPECT(params == 10011);
  event = Rows{ones(number), value(1)}.region_later(&host::add_one, {}, omp_get_initial_device(), param(7), &result);
  EXPECT(result != 0 && event == nullptr);
  event = Rows{ones(number)}.begin_later({}, omp_get_initial_device(), param(7));
  EXPECT(event);
  finish_all();
  EXPECT(params == 10018);
  return 0;
}

TEST_CASE("a region that cannot offload returns non-zero, with the data of what it depends on, and leaves nothing") {
  for (const Environment& plugin : kPlugins) {
    const Outcome outcome = run_scenario("async_refused", plugin);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.has("region absent runs on the host: "));
  }
}

SCENARIO_OF(async_disabled) {
  use_main();
  __tgt_init_dep(count_callback);
  static int number = 1;
  std::int32_t result = 0;
  const tgt_event_t event = Rows{ones(number)}.begin_later({}, -1, param(1));
  EXPECT(event);
  EXPECT((Rows{ones(number), value(1)}.region_later(&host::add_one, {event}, -1, param(2), &result) == nullptr));
  EXPECT(result != 0);
  EXPECT((Rows{ones(number)}.end_later({event}, -1, param(4))));
  finish_all();
  EXPECT(params == 5);
  return 0;
}

TEST_CASE("without offloading regions are the host's, and data calls complete") {
  const Outcome outcome = run_scenario("async_disabled", {"OMP_TARGET_OFFLOAD=DISABLED"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "");
}

SCENARIO_OF(async_fork) {
  use_main();
  static int number = 1;
  Gate gate;
  const tgt_event_t event = Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later);
  EXPECT(soon([&] { return gate.has_begun(); }));
  const pid_t child = ::fork();
  if (child == 0) {
    std::int32_t result = 0;
    Rows{ones(number), value(1)}.region_later(&host::add_one, {event}, -1, nullptr, &result);
    bool right = result != 0;
    __tgt_release_dep(event);
    __tgt_release_dep(event);
    right = right && __tgt_process_dep() == 0;
    const tgt_event_t own = Rows{ones(number)}.begin_later({event});
    right = right && own;
    finish_all();
    __tgt_release_dep(own);
    ::_exit(right ? 0 : 1); // the leak sanitizer waits for the parent's threads at exit
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  gate.open();
  finish_all();
  EXPECT(number == 11);
  __tgt_release_dep(event);
  return 0;
}

TEST_CASE("in a child of fork every event counts as released, and as happened") {
  for (const Environment& plugin : kPlugins) {
    const Outcome outcome = run_scenario("async_fork", plugin);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK_FALSE(outcome.has("event"));
  }
}

TEST_SUITE_END();
