// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the core relies on of a plugin that has the asynchronous functions.
#include "conformance.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using Events = std::vector<tgt_event_t>;

int in_flight() {
  return std::atoi(told("CONFORMANCE_IN_FLIGHT").c_str());
}

// How often each event was called back. An event's address may be used again, but not before it is released.
class Completions {
public:
  void note(tgt_event_t event) {
    const std::lock_guard lock(mutex_);
    ++times_[event];
  }
  int of(tgt_event_t event) {
    const std::lock_guard lock(mutex_);
    return times_[event];
  }
  void forget(tgt_event_t event) {
    const std::lock_guard lock(mutex_);
    times_.erase(event);
  }

private:
  std::mutex mutex_;
  std::map<tgt_event_t, int> times_;
};
Completions& completions() {
  static Completions& only = *new Completions; // threads go on while the program ends
  return only;
}

void* kernel(Entry entry) {
  return loaded()[entry];
}

// An event that is released in the end.
class Event {
public:
  explicit Event(tgt_event_t event) : event_(event) { REQUIRE(event); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    release();
    event_ = std::exchange(other.event_, nullptr);
    return *this;
  }
  ~Event() { release(); }
  void release() {
    if (!event_)
      return;
    RTL(__tgt_rtl_release_dep)(event_);
    completions().forget(std::exchange(event_, nullptr));
  }
  operator tgt_event_t() const { return event_; }

  // Until the event was called back: what a plugin without wait_event has to tell.
  void await_callback() const {
    while (completions().of(event_) == 0)
      if (RTL(__tgt_rtl_process_dep)() == 0)
        std::this_thread::yield();
  }
  std::int32_t wait() const {
    if (const auto wait_event = find<decltype(&__tgt_rtl_wait_event)>("__tgt_rtl_wait_event"))
      return wait_event(event_);
    await_callback();
    return 0;
  }
  bool is_pending() const {
    if (const auto query_event = find<decltype(&__tgt_rtl_query_event)>("__tgt_rtl_query_event"))
      return query_event(event_) == OMPTARGET_RTL_PENDING;
    RTL(__tgt_rtl_process_dep)();
    return completions().of(event_) == 0;
  }

private:
  tgt_event_t event_;
};

std::int32_t count_of(const auto& all) {
  return static_cast<std::int32_t>(all.size());
}

// A function of the plugin, which has been told what to call before the first operation.
template <typename Function> Function after_init_dep(Function function) {
  static const bool is_told = [] {
    REQUIRE(init_device(0) == 0);
    RTL(__tgt_rtl_init_dep)([](tgt_event_t event) { completions().note(event); });
    return true;
  }();
  REQUIRE(is_told);
  return function;
}
#define QUEUED(name) after_init_dep(RTL(name))

// Each call gets arrays of its own, which hold something else as soon as it has returned.
Event join(Events before, std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_dep)(device, count_of(before), before.data(), &made) == 0);
  before.assign(before.size(), &made);
  return Event(made);
}
Event submit_later(void* target, const void* host, std::size_t size, Events before = {}, std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_data_submit)(device, target, const_cast<void*>(host), static_cast<std::int64_t>(size),
                                              count_of(before), before.data(), &made) == 0);
  before.assign(before.size(), &made);
  return Event(made);
}
Event retrieve_later(void* host, void* target, std::size_t size, Events before = {}, std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_data_retrieve)(device, host, target, static_cast<std::int64_t>(size), count_of(before),
                                                before.data(), &made) == 0);
  before.assign(before.size(), &made);
  return Event(made);
}
Event run_later(void* entry, std::vector<void*> arguments, Events before = {}, std::int32_t device = 0) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_run_target_region)(device, entry, arguments.data(), count_of(arguments),
                                                    count_of(before), before.data(), &made) == 0);
  arguments.assign(arguments.size(), &made);
  before.assign(before.size(), &made);
  return Event(made);
}
Event run_teams_later(void* entry, std::vector<void*> arguments, std::int32_t teams, std::int32_t threads,
                      Events before = {}) {
  tgt_event_t made = nullptr;
  REQUIRE(QUEUED(__tgt_rtl_async_run_target_team_region)(0, entry, arguments.data(), count_of(arguments), teams,
                                                         threads, count_of(before), before.data(), &made) == 0);
  arguments.assign(arguments.size(), &made);
  return Event(made);
}

// A stream that goes on when the gate is opened.
class Held {
public:
  Held() : gate_(std::vector<int>{0}), event_(run_later(kernel(kHold), {gate_.at()})) {}
  ~Held() {
    open();
    event_.wait();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  operator tgt_event_t() const { return event_; }
  void open() const {
    const int one = 1;
    CHECK(submit(gate_.at(), &one, sizeof one) == 0);
  }
  Event& event() { return event_; }

private:
  Memory gate_;
  Event event_;
};

// What kernels note, and in which order.
class Notes {
public:
  Event add(int number, Events before = {}, std::int32_t device = 0) const {
    return run_later(kernel(kNote), {list_.at(), bits(number)}, std::move(before), device);
  }
  std::vector<int> numbers() const {
    const std::vector<int> all = list_.values<int>(kRoom);
    CHECK(all[2] == 0); // never two at once
    return {all.begin() + kHead, all.begin() + kHead + all[0]};
  }

private:
  static constexpr std::size_t kRoom = 128;
  static constexpr std::ptrdiff_t kHead = 3;
  Memory list_{std::vector<int>(kRoom)};
};

} // namespace

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
  const Held held;
  const Notes notes;
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

// A plugin that can be told to fail has this function.
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

TEST_CASE("events are for the devices that it says, and for none that is not there") {
  const Event event = join({});
  for (const std::int32_t wrong : wrong_devices()) {
    CHECK(RTL(__tgt_rtl_enforce_dep)(wrong, 0, event) == 0);
    CHECK(RTL(__tgt_rtl_enforce_dep)(0, wrong, event) == 0);
  }
  CHECK(RTL(__tgt_rtl_enforce_dep)(0, 0, event) != 0);
}

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

namespace {

// How a child of fork() ends that does what `body` says.
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

TEST_CASE("in a child of fork() all events are released, and new ones can be made") {
  const Held held;
  const auto query_event = find<decltype(&__tgt_rtl_query_event)>("__tgt_rtl_query_event");
  CHECK(0 == in_child([&] {
          const std::int32_t known = query_event ? query_event(held) : 1;
          if (known == 0 || known == OMPTARGET_RTL_PENDING || init_device(0) != 0)
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
  const int status = in_child(
      [] { ::execl("/proc/self/exe", "conformance_tests", "--no-skip", "--test-case=[ends the process]", nullptr); });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kEnded);
}

TEST_SUITE_END();
