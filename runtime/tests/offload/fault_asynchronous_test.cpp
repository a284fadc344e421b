// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The document's asynchronous calls on a device that fails at its k-th call, at once or later, with and without
// asynchronous functions of its own.
#include "fault_sweep.h"
#include "later.h"

#include <atomic>
#include <cstdio>
#include <doctest/doctest.h>
#include <functional>
#include <string>
#include <vector>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

using Events = std::vector<tgt_event_t>;

std::atomic<int> called_back{0};
int to_be_called_back = 0;

tgt_callback_param_t some_parameter() {
  static int something;
  return &something;
}

// Returns the events for what comes after: the region's event, or nothing, where the host version has run.
Events region(Rows rows, void* kernel, const Events& after, const std::function<void()>& host_version) {
  std::int32_t result = 0;
  const tgt_event_t event = rows.region_later(kernel, after, -1, some_parameter(), &result);
  if (result == 0) {
    ++to_be_called_back;
    return {event};
  }
  host_version();
  return {};
}

Events data(tgt_event_t event) {
  ++to_be_called_back;
  return {event};
}

int a_chain_in_a_data_region() {
  static int number;
  number = 1;
  Rows there{row(number, TOFROM | REF)}, here{row(number, FROM)};
  Events last = data(there.begin_later({}, -1, some_parameter()));
  last = region({row(number, TOFROM | REF), value(1)}, &host::add_one, last, [] { number += 1; });
  last = region({row(number, TOFROM | REF), value(1)}, &host::add_ten, last, [] { number += 10; });
  last = data(here.update_later(last, -1, some_parameter()));
  finish_all();
  EXPECT(number == 12);
  last = region({row(number, TOFROM | REF), value(1)}, &host::add_one, last, [] { number += 1; });
  data(there.end_later(last, -1, some_parameter()));
  finish_all();
  EXPECT(number == 13);
  return 0;
}

int regions_that_map() {
  static int one, other;
  one = 1, other = 2;
  region({row(one, TOFROM | REF), value(1)}, &host::add_one, {}, [] { one += 1; });
  region({row(other, TOFROM | REF), value(1)}, &host::add_ten, {}, [] { other += 10; });
  finish_all();
  EXPECT(one == 2 && other == 12);
  return 0;
}

int a_copy_for_one_region() {
  static int own[2], more[3] = {100, 1, 2};
  own[0] = own[1] = 0;
  region({row(own, TOFROM | REF), row(more, TO | PRIVATE)}, &host::add_second, {}, [] {
    own[0] += more[1];
    own[1] += more[2];
  });
  finish_all();
  EXPECT(own[0] == 1 && own[1] == 2);
  return 0;
}

// The second maps what the first lets go, and a synchronous call comes after both.
int one_object_again_and_again() {
  static int number;
  number = 1;
  const Events first = region({row(number, TOFROM | REF), value(1)}, &host::add_one, {}, [] { number += 1; });
  region({row(number, TOFROM | REF), value(1)}, &host::add_ten, first, [] { number += 10; });
  if (Rows{row(number, TOFROM | REF), value(1)}.region(&host::add_one) != 0)
    number += 1;
  finish_all();
  EXPECT(number == 13);
  return 0;
}

// Whatever fails later, a host version has run between two that did not.
int after_a_host_version() {
  static int number;
  number = 1;
  Rows there{row(number, TOFROM | REF)}, kernel{row(number, TOFROM | REF), value(1)};
  Events last = data(there.begin_later({}, -1, some_parameter()));
  last = region(kernel, &host::add_one, last, [] { number += 1; });
  std::int32_t result = 0;
  kernel.region_later(&host::absent, last, -1, some_parameter(), &result);
  EXPECT(result != 0);
  number += 10;
  last = region(kernel, &host::add_one, {}, [] { number += 1; });
  last = data(Rows{row(number, FROM)}.update_later(last, -1, some_parameter()));
  data(there.end_later(last, -1, some_parameter()));
  finish_all();
  EXPECT(number == 13);
  return 0;
}

} // namespace

SCENARIO_OF(every_asynchronous_call) {
  use_main();
  __tgt_init_dep([](tgt_callback_param_t) { ++called_back; });
  for (int (*const part)() : {a_chain_in_a_data_region, regions_that_map, a_copy_for_one_region,
                              one_object_again_and_again, after_a_host_version})
    if (part() != 0)
      return 1;
  EXPECT(called_back == to_be_called_back);
  std::puts("done");
  return 0;
}

TEST_CASE("whatever call of the plugin fails under asynchronous calls, the results are right or the program says why") {
  for (const char* way : {"OMPTOOL_HOST_QUEUES=0", "OMPTOOL_HOST_QUEUES=1"}) {
    INFO(way);
    const FaultSweep sweep = fail_each_call("every_asynchronous_call", {way});
    CHECK(sweep.completed > 10 / kSweepStep);
    CHECK(sweep.aborted > 10 / kSweepStep);
  }
}

TEST_SUITE_END();
