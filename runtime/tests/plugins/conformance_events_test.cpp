// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests what the core relies on of a plugin's events: their callbacks, their failures and their ends.
#include "conformance_queues.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

// Left out for plugins without the asynchronous functions.
TEST_SUITE_BEGIN("queues");

TEST_CASE("each event is called back once, whether somebody waits or not") {
  const Notes notes;
  std::vector<Event> events;
  {
    const Held held;
    events.push_back(notes.add(1, {held}));
    for (int number = 2; number <= 10; ++number)
      events.push_back(notes.add(number, {number % 2 ? nullptr : static_cast<tgt_event_t>(events.back())}));
    events.push_back(join({events.begin(), events.end()}));
    CHECK(completions().of(events.front()) == 0);
    CHECK(completions().of(events.back()) == 0);
  }
  for (const Event& event : events)
    event.await_callback();
  CHECK(events.back().wait() == 0);
  for (const Event& event : events) {
    CHECK_FALSE(event.is_pending());
    CHECK(completions().of(event) == 1);
  }
}

TEST_CASE("what is released goes on, and is not called back") {
  const Notes notes;
  Held held;
  Event first = notes.add(1, {held}), second = notes.add(2, {first});
  const Event third = notes.add(3, {nullptr, second});
  const tgt_event_t was_first = first, was_second = second;
  second.release();
  first.release();
  held.open();
  third.await_callback();
  CHECK(third.wait() == 0);
  CHECK(notes.numbers() == std::vector<int>{1, 2, 3});
  CHECK(completions().of(was_first) == 0);
  CHECK(completions().of(was_second) == 0);
}

TEST_CASE("several threads may wait for one event, and again when it is done") {
  const Notes notes;
  const Held held;
  const Event event = notes.add(1, {held});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] { right += event.wait() == 0; });
  held.open();
  for (std::thread& thread : threads)
    thread.join();
  CHECK(right == 3);
  CHECK(event.wait() == 0);
  CHECK_FALSE(event.is_pending());
}

TEST_CASE("what depends on a failure fails, without running") {
  const auto fail_next = find<void (*)()>("test_next_operation_fails");
  if (!fail_next)
    return;
  const Notes notes;
  const Event fine = notes.add(1);
  fail_next();
  const Event bad = notes.add(8, {fine});
  const Event next = notes.add(9, {bad}), other = notes.add(9, {nullptr, fine, bad}), joined = join({nullptr, other});
  for (const Event* event : {&joined, &other, &next, &bad}) {
    CHECK(event->wait() != 0);
    check_reason();
    CHECK_FALSE(event->is_pending());
    event->await_callback();
    CHECK(completions().of(*event) == 1);
  }
  CHECK(fine.wait() == 0);
  CHECK(notes.add(2, {nullptr, fine}).wait() == 0);
  CHECK(notes.numbers() == std::vector<int>{1, 2});
}

TEST_CASE("an event that is released, or never was, is an error where the plugin says that it looks") {
  if (!std::getenv("CONFORMANCE_KNOWS_EVENTS"))
    return;
  int no_event = 0;
  const Notes notes;
  Event fine = notes.add(1), gone = notes.add(2, {fine});
  CHECK(gone.wait() == 0);
  const tgt_event_t released = gone;
  gone.release();
  for (const tgt_event_t wrong : {released, static_cast<tgt_event_t>(&no_event), tgt_event_t{nullptr}}) {
    CAPTURE(wrong);
    tgt_event_t before[] = {fine, wrong}, made = nullptr;
    CHECK(RTL(__tgt_rtl_enforce_dep)(0, 0, wrong) == 0);
    check_reason();
    RTL(__tgt_rtl_release_dep)(wrong);
    check_reason();
    if (wrong) { // NULL is no dependence
      CHECK(RTL(__tgt_rtl_async_dep)(0, 2, before, &made) != 0);
      check_reason();
      CHECK(made == nullptr);
    }
    if (const auto wait_event = find<decltype(&__tgt_rtl_wait_event)>("__tgt_rtl_wait_event")) {
      CHECK(wait_event(wrong) != 0);
      check_reason();
    }
    if (const auto query_event = find<decltype(&__tgt_rtl_query_event)>("__tgt_rtl_query_event")) {
      const std::int32_t known = query_event(wrong);
      CHECK((known != 0 && known != OMPTARGET_RTL_PENDING));
      check_reason();
    }
  }
  CHECK(notes.add(3, {fine}).wait() == 0);
  CHECK(notes.numbers() == std::vector<int>{1, 2, 3});
}

TEST_CASE("times of operations are in order, between the call and the end of the wait") {
  const auto event_times = find<decltype(&__tgt_rtl_event_times)>("__tgt_rtl_event_times");
  if (!event_times)
    return;
  const auto now = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  };
  const Memory memory(1 << 20);
  for (const std::size_t size : {sizeof(int), std::size_t{1} << 20}) {
    std::vector<std::byte> bytes(size);
    std::uint64_t last = now(), began = 0, ended = 0;
    Held held;
    const Event to = submit_later(memory.at(), bytes.data(), size, {held});
    const Event from = retrieve_later(bytes.data(), memory.at(), size, {to});
    CHECK(event_times(to, &began, &ended) == 0);
    held.open();
    CHECK(from.wait() == 0);
    const std::uint64_t after = now();
    const Event& kernel_held = held.event();
    for (const Event* const one : {&kernel_held, &to, &from}) {
      CHECK(event_times(*one, &began, &ended) != 0);
      CHECK(last <= began);
      CHECK(began <= ended);
      last = began;
    }
    CHECK(ended <= after);
  }
  CHECK(event_times(nullptr, nullptr, nullptr) == 0);
}

TEST_CASE("events are for the devices that it says, and for none that is not there") {
  const Event event = join({});
  for (const std::int32_t wrong : wrong_devices()) {
    CHECK(RTL(__tgt_rtl_enforce_dep)(wrong, 0, event) == 0);
    CHECK(RTL(__tgt_rtl_enforce_dep)(0, wrong, event) == 0);
  }
  CHECK(RTL(__tgt_rtl_enforce_dep)(0, 0, event) != 0);
}

namespace {

// Returns how a child of fork() ends that runs `body`.
int in_child(const auto& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr unsigned kPatience = 60;
    ::alarm(kPatience);
    body();
    ::_exit(EXIT_FAILURE);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

} // namespace

TEST_CASE("in a child of fork() all events are released, and new ones can be made, unless its device is lost") {
  const Held held;
  const auto query_event = find<decltype(&__tgt_rtl_query_event)>("__tgt_rtl_query_event");
  CHECK(0 == in_child([&] {
          const std::int32_t known = query_event ? query_event(held) : 1;
          if (known == 0 || known == OMPTARGET_RTL_PENDING)
            return;
          if (std::getenv("CONFORMANCE_LOST_BY_FORK") && init_device(0) != 0) {
            check_reason();
            ::_exit(EXIT_SUCCESS);
          }
          if (init_device(0) != 0)
            return;
          const Memory memory(sizeof(int));
          int value = 7;
          const Event submitted = submit_later(memory.at(), &value, sizeof value);
          int got = 0;
          if (retrieve_later(&got, memory.at(), sizeof got, {submitted}).wait() == 0 && got == value)
            ::_exit(EXIT_SUCCESS);
        }));
}

// Does not return, so that nothing lets go what is held. In a process of its own: what LeakSanitizer sees of a child's
// threads is not the whole.
constexpr int kEnded = 42;
TEST_CASE("[ends the process]" * doctest::skip()) {
  const Held held;
  const Event behind = join({held});
  std::this_thread::sleep_for(std::chrono::milliseconds(5)); // it runs by then
  std::exit(behind.is_pending() ? kEnded : EXIT_FAILURE);
}

TEST_CASE("the process may end while operations run") {
  if (std::getenv("CONFORMANCE_EXIT_WAITS"))
    return;
  const int status = in_child(
      [] { ::execl("/proc/self/exe", "conformance_tests", "--no-skip", "--test-case=[ends the process]", nullptr); });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kEnded);
}

TEST_SUITE_END();
