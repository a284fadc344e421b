// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests what the core relies on of a plugin that has the asynchronous functions: what is queued, and in which order it
// runs.
#include "conformance_queues.h"

#include <numeric>
#include <thread>

TEST_CASE("it has all of the asynchronous functions, or none") {
  int found = 0;
  for (const char* name :
       {"__tgt_rtl_init_dep", "__tgt_rtl_enforce_dep", "__tgt_rtl_release_dep", "__tgt_rtl_process_dep",
        "__tgt_rtl_async_dep", "__tgt_rtl_async_data_submit", "__tgt_rtl_async_data_retrieve",
        "__tgt_rtl_async_run_target_region", "__tgt_rtl_async_run_target_team_region"})
    found += find<void*>(name) != nullptr;
  CHECK(found == (in_flight() == 0 ? 0 : 9));
}

// Left out for plugins without them.
TEST_SUITE_BEGIN("queues");

TEST_CASE("a chain sends, computes and brings back") {
  for (const std::size_t count : {1u, 100u, 100'000u}) {
    CAPTURE(count);
    std::vector<int> sent(count), got(count);
    std::iota(sent.begin(), sent.end(), 0);
    const Memory memory(count * sizeof(int));
    const Event submitted = submit_later(memory.at(), sent.data(), count * sizeof(int));
    const Event run = run_later(kernel(kAdd), {memory.at(), bits(static_cast<int>(count)), bits(7)}, {submitted});
    const Event teams = run_teams_later(kernel(kNothing), {}, 1, 1, {run});
    const Event retrieved = retrieve_later(got.data(), memory.at(), count * sizeof(int), {teams});
    CHECK(retrieved.wait() == 0);
    for (int& value : sent)
      value += 7;
    CHECK(got == sent);
    for (const Event* event : {&submitted, &run, &teams, &retrieved})
      CHECK_FALSE(event->is_pending());
  }
}

TEST_CASE("a copy reads the host's bytes when it runs: what an operation before it has yet to write") {
  for (const std::size_t count : {1u, 1000u, 100'000u}) {
    CAPTURE(count);
    std::vector<int> sent(count), between(count, -1), got(count);
    std::iota(sent.begin(), sent.end(), 0);
    const std::size_t size = count * sizeof(int);
    const Memory memory(size), other(size);
    const Event submitted = submit_later(memory.at(), sent.data(), size);
    const Held held;
    const Event written = retrieve_later(between.data(), memory.at(), size, {submitted, held});
    const Event read = submit_later(other.at(), between.data(), size, {written});
    const Event added = run_later(kernel(kAdd), {other.at(), bits(static_cast<int>(count)), bits(1)}, {read});
    const Event retrieved = retrieve_later(got.data(), other.at(), size, {added});
    held.open();
    CHECK(retrieved.wait() == 0);
    for (int& value : sent)
      ++value;
    CHECK(got == sent);
  }
}

TEST_CASE("a copy waits for those before it that write the host's bytes, and not for those behind it") {
  for (const std::size_t count : {1u, 100'000u}) {
    CAPTURE(count);
    constexpr int kRounds = 3;
    const std::size_t size = count * sizeof(int);
    std::vector<int> values(count);
    const Memory memory(size);
    std::vector<Event> made;
    Events before;
    const auto then = [&](Event event) {
      made.push_back(std::move(event));
      before = {made.back()};
    };
    for (int round = 0; round < kRounds; ++round) {
      then(submit_later(memory.at(), values.data(), size, before));
      then(run_later(kernel(kAdd), {memory.at(), bits(static_cast<int>(count)), bits(1)}, before));
      then(retrieve_later(values.data(), memory.at(), size, before));
    }
    CHECK(made.back().wait() == 0);
    CHECK(values == std::vector<int>(count, kRounds));
  }
}

// "For devices that support the concept of streams, it is expected that the new operation will be queue[d] up in the
// stream associated with the first synchronization event in dep_event."
TEST_CASE("what names an event of a stream first comes behind everything in that stream") {
  const Notes notes;
  const Held held;
  const Event first = notes.add(1, {held});
  const Event second = notes.add(2, {held}); // its dependence is done before the first's is
  const Event third = notes.add(3, {first});
  const Event joined = join({first});
  const Event fourth = notes.add(4, {joined, second});
  const Event last = notes.add(5, {held, first});
  CHECK(first.is_pending());
  CHECK(last.is_pending());
  held.open();
  CHECK(last.wait() == 0);
  CHECK_FALSE(third.is_pending());
  CHECK_FALSE(fourth.is_pending());
  CHECK(notes.numbers() == std::vector<int>{1, 2, 3, 4, 5});
}

TEST_CASE("a stream goes on after its events are done, or released") {
  const Notes notes;
  const Event first = notes.add(1);
  CHECK(first.wait() == 0);
  Event second = notes.add(2, {first});
  const Event third = notes.add(3, {second});
  second.release();
  const Event fourth = notes.add(4, {first});
  CHECK(fourth.wait() == 0);
  CHECK(third.wait() == 0);
  CHECK(notes.numbers() == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("without a first event, a new stream begins") {
  if (in_flight() < 2)
    return; // such a device has no room beside what is held
  const Notes notes;
  const Event done = notes.add(1);
  CHECK(done.wait() == 0);
  const Held held;
  const Event behind = notes.add(9, {held});
  CHECK(notes.add(2).wait() == 0);
  CHECK(notes.add(3, {nullptr}).wait() == 0);
  CHECK(notes.add(4, {nullptr, done, nullptr}).wait() == 0);
  CHECK(join({}).wait() == 0);
  CHECK(behind.is_pending());
  CHECK(notes.numbers() == std::vector<int>{1, 2, 3, 4});
  held.open();
  CHECK(behind.wait() == 0);
}

TEST_CASE("each of several dependences is waited for, in whatever place") {
  const std::size_t places = 4;
  for (std::size_t place = 0; place < places; ++place) {
    CAPTURE(place);
    const Notes notes;
    const Held held;
    const Event first = notes.add(1, {held});
    const Event other = join({});
    Events before(places, nullptr);
    before[place] = first;
    before[(place + 1) % places] = other;
    const Event second = notes.add(2, before);
    const Event third = notes.add(3, {nullptr, other, second});
    CHECK(second.is_pending());
    CHECK(third.is_pending());
    held.open();
    CHECK(third.wait() == 0);
    CHECK(notes.numbers() == std::vector<int>{1, 2, 3});
  }
}

TEST_CASE("a join is done when all it joins are, and at once without any") {
  const Notes notes;
  CHECK(join({}).wait() == 0);
  CHECK(join({nullptr, nullptr}).wait() == 0);
  const Held held;
  std::vector<Event> noted;
  noted.push_back(notes.add(1, {held}));
  for (int number = 2; number <= 5; ++number)
    noted.push_back(notes.add(number, {nullptr, noted.back()}));
  const Event joined = join({noted.begin(), noted.end()});
  CHECK(joined.is_pending());
  held.open();
  CHECK(joined.wait() == 0);
  for (const Event& event : noted)
    CHECK_FALSE(event.is_pending());
  CHECK(join({joined, joined, noted[0]}).wait() == 0);
}

TEST_CASE("as many kernels run at once as it says, and wait for each other") {
  const Memory begun(std::vector<int>{0, 0});
  std::vector<Event> events;
  const Event before = join({});
  for (int i = 0; i < in_flight(); ++i)
    events.push_back(run_later(kernel(kMeet), {begun.at(), bits(in_flight())}, {nullptr, before}));
  CHECK(join({events.begin(), events.end()}).wait() == 0);
  CHECK(begun.values<int>(1)[0] == in_flight());

  events.clear(); // they become ready at once, when one kernel has ended
  const Held held;
  for (int i = 0; i < in_flight(); ++i)
    events.push_back(run_later(kernel(kMeet), {begun.at(sizeof(int)), bits(in_flight())}, {nullptr, held}));
  held.open();
  CHECK(join({events.begin(), events.end()}).wait() == 0);
}

TEST_CASE("a call that cannot be queued is refused, and makes no event") {
  const auto join_events = RTL(__tgt_rtl_async_dep);
  const auto submit_bytes = RTL(__tgt_rtl_async_data_submit);
  const auto retrieve_bytes = RTL(__tgt_rtl_async_data_retrieve);
  const auto run_region = RTL(__tgt_rtl_async_run_target_region);
  const auto run_teams = RTL(__tgt_rtl_async_run_target_team_region);
  const Memory memory(std::vector<int>{1});
  int value = 2;
  void* arguments[] = {memory.at()};
  void* const entry = kernel(kCountCalls);
  tgt_event_t made = &value;
  std::vector<std::int32_t> results;
  for (const std::int32_t wrong : wrong_devices()) {
    results.push_back(join_events(wrong, 0, nullptr, &made));
    check_reason();
    results.push_back(submit_bytes(wrong, memory.at(), &value, sizeof value, 0, nullptr, &made));
    check_reason();
    results.push_back(retrieve_bytes(wrong, &value, memory.at(), sizeof value, 0, nullptr, &made));
    check_reason();
    results.push_back(run_region(wrong, entry, arguments, 1, 0, nullptr, &made));
    check_reason();
    results.push_back(run_teams(wrong, entry, arguments, 1, 1, 1, 0, nullptr, &made));
    check_reason();
  }
  results.push_back(submit_bytes(0, memory.at(), &value, -1, 0, nullptr, &made));
  check_reason();
  results.push_back(retrieve_bytes(0, &value, memory.at(), INT64_MIN, 0, nullptr, &made));
  check_reason();
  results.push_back(run_region(0, nullptr, arguments, 1, 0, nullptr, &made));
  check_reason();
  results.push_back(run_region(0, entry, arguments, -1, 0, nullptr, &made));
  check_reason();
  results.push_back(run_teams(0, entry, arguments, -1, 1, 1, 0, nullptr, &made));
  check_reason();
  results.push_back(join_events(0, -1, nullptr, &made));
  check_reason();
  for (const std::int32_t result : results)
    CHECK(result != 0);
  CHECK(made == &value);
  CHECK(value == 2);
  CHECK(memory.values<int>(1) == std::vector<int>{1});
}

// Tests a plugin whose operations can be made to fail.
TEST_CASE("an operation waits for events of another device") {
  if (device_count() < 2 || init_device(1) != 0 || RTL(__tgt_rtl_enforce_dep)(0, 1, join({})) == 0)
    return;
  Image& other = lasting_image();
  REQUIRE(other.load(1));
  const Memory here(std::vector<int>{1, 2}), there(2 * sizeof(int), 1);
  int way[2] = {};
  const Held held;
  const Event behind = run_later(kernel(kAdd), {here.at(), bits(2), bits(10)}, {held});
  const Event retrieved = retrieve_later(way, here.at(), sizeof way, {behind});
  const Event submitted = submit_later(there.at(), way, sizeof way, {retrieved}, 1);
  const Event run = run_later(other[kAdd], {there.at(), bits(2), bits(100)}, {nullptr, submitted}, 1);
  const Event joined = join({behind, run}, 1);
  CHECK(joined.is_pending());
  held.open();
  CHECK(joined.wait() == 0);
  CHECK(there.values<int>(2) == std::vector<int>{111, 112});
}

TEST_CASE("several threads queue, wait and release at once") {
  constexpr int kThreads = 4, kRounds = 50;
  void* const add = kernel(kAdd);
  std::vector<int> right(kThreads);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number)
    threads.emplace_back([number, add, &right] {
      void* const target = RTL(__tgt_rtl_data_alloc)(0, 2 * sizeof(int));
      for (int round = 0; round < kRounds; ++round) {
        int values[] = {number, round};
        Event event = submit_later(target, values, sizeof values);
        for (int step = 0; step < 3; ++step)
          event = run_later(add, {target, bits(2), bits(1)}, {event});
        const Event last = retrieve_later(values, target, sizeof values, {event});
        right[static_cast<std::size_t>(number)] +=
            last.wait() == 0 && values[0] == number + 3 && values[1] == round + 3;
      }
      RTL(__tgt_rtl_data_delete)(0, target);
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(right == std::vector<int>(kThreads, kRounds));
}

TEST_SUITE_END();
