// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the host plugin's queues, with bodies that fail, wait and take note.
#include "queue.h"

#include "common/calls.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <doctest/doctest.h>
#include <latch>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

using omptool::fail;
using omptool::last_error;
using namespace omptool::host;
using namespace omptool::plugin;

namespace {

// Queues: the process's one instance of both.
struct Queues {
  explicit Queues(unsigned most) : queue(events, most) {}

  std::int32_t wait(tgt_event_t event) {
    Events::Lock lock = events.lock();
    const auto operation = events.find<Operation>(event);
    if (operation)
      queue.await(*operation, lock);
    return operation ? result_of(*operation) : 1;
  }
  std::int32_t query(tgt_event_t event) {
    const Events::Lock lock = events.lock();
    const auto operation = events.find<Operation>(event);
    return !operation ? 1 : operation->is_done ? result_of(*operation) : OMPTARGET_RTL_PENDING;
  }

  Events events;
  Queue queue;
};

// Returns lasting queues, whose threads wait for work until the process ends.
Queues& lasting(unsigned most = 64) {
  static std::vector<Queues*>& all = *new std::vector<Queues*>;
  return *all.emplace_back(new Queues(most));
}

tgt_event_t add(Queues& queues, const std::vector<tgt_event_t>& dependences, Body body = {}) {
  tgt_event_t made = nullptr;
  CHECK(queues.queue.add({dependences, made}, std::move(body)) == 0);
  CHECK(made);
  return made;
}

// Gate: a body that ends when the gate is opened.
class Gate {
public:
  Body body() {
    return [this] {
      latch_.wait();
      return 0;
    };
  }
  void open() { latch_.count_down(); }

private:
  std::latch latch_{1};
};

// Guards the events that were called back, each as often as it was.
std::mutex noting;
std::vector<tgt_event_t>& noted() {
  static std::vector<tgt_event_t>& all = *new std::vector<tgt_event_t>;
  return all;
}
void note(tgt_event_t event) {
  const std::lock_guard lock(noting);
  noted().push_back(event);
}
auto times_noted(tgt_event_t event) {
  const std::lock_guard lock(noting);
  return std::count(noted().begin(), noted().end(), event);
}
struct Noting {
  Noting() { Events::set_callback(note); }
  ~Noting() { Events::set_callback(nullptr); }
  Noting(const Noting&) = delete;
  Noting& operator=(const Noting&) = delete;
};

} // namespace

TEST_CASE("a stream goes on after what it got last, whichever of its events is named") {
  Queues& queues = lasting();
  Gate gate;
  std::vector<int> order;
  const auto body = [&](int number) {
    return [&order, number] {
      order.push_back(number);
      return 0;
    };
  };
  const tgt_event_t first = add(queues, {}, gate.body());
  const tgt_event_t second = add(queues, {first}, body(2));
  const tgt_event_t third = add(queues, {first}, body(3));
  const tgt_event_t fourth = add(queues, {second}, body(4));
  CHECK(queues.query(fourth) == OMPTARGET_RTL_PENDING);
  gate.open();
  CHECK(queues.wait(fourth) == 0);
  CHECK(queues.query(third) == 0);
  CHECK(order == std::vector<int>{2, 3, 4});
}

TEST_CASE("what depends on a failure fails, once all it depends on is done; what is only behind it does not") {
  const Noting noting_here;
  Queues& queues = lasting();
  Gate gate;
  std::atomic<bool> ran{false};
  const auto running = [&] {
    ran = true;
    return 0;
  };
  const tgt_event_t head = add(queues, {});
  const tgt_event_t bad = add(queues, {head}, [] { return fail("a reason"); });
  const tgt_event_t slow = add(queues, {nullptr}, gate.body());
  const tgt_event_t both = add(queues, {slow, bad}, running);
  const tgt_event_t further = add(queues, {nullptr, both, nullptr}, running);
  const tgt_event_t joined = add(queues, {further});
  CHECK(queues.wait(bad) != 0);
  CHECK(std::string(last_error.data()) == "a reason");
  CHECK(queues.query(further) == OMPTARGET_RTL_PENDING);
  gate.open();
  CHECK(queues.wait(joined) != 0);
  CHECK(std::string(last_error.data()) == "a reason");
  CHECK(queues.query(both) != 0);
  CHECK_FALSE(ran);
  CHECK(queues.wait(add(queues, {bad}, running)) != 0); // when it has failed already, too
  CHECK_FALSE(ran);
  CHECK(queues.wait(add(queues, {head}, running)) == 0);
  CHECK(ran);
  for (const tgt_event_t event : {head, bad, slow, both, further, joined})
    CHECK(times_noted(event) == 1);
}

TEST_CASE("an exception in an operation is its failure") {
  Queues& queues = lasting();
  const tgt_event_t bad = add(queues, {}, []() -> std::int32_t { throw std::bad_alloc(); });
  CHECK(queues.wait(bad) == 1);
  CHECK(std::string(last_error.data()).find("alloc") != std::string::npos);
}

TEST_CASE("a released event is not called back, unknown ones are refused, and the work goes on") {
  const Noting noting_here;
  Queues& queues = lasting();
  Gate gate;
  const tgt_event_t slow = add(queues, {}, gate.body());
  const tgt_event_t next = add(queues, {slow}, [] { return 0; });
  CHECK(queues.events.is_live(slow));
  CHECK(queues.events.release(slow) == 0);
  CHECK_FALSE(queues.events.is_live(slow));
  tgt_event_t made = nullptr;
  for (const tgt_event_t wrong : {slow, static_cast<tgt_event_t>(&gate), tgt_event_t{}}) {
    CHECK(queues.events.release(wrong) == 1);
    CHECK(queues.wait(wrong) == 1);
    CHECK(queues.query(wrong) == 1);
    CHECK(std::string(last_error.data()).find("released") != std::string::npos);
    if (wrong)
      CHECK(queues.queue.add({std::array{tgt_event_t{}, next, wrong}, made}, {}) == 1);
  }
  CHECK(made == nullptr);
  gate.open();
  CHECK(queues.wait(next) == 0);
  CHECK(times_noted(slow) == 0);
  CHECK(times_noted(next) == 1);
}

TEST_CASE("as many run as the number says, and threads that wait run what they wait for") {
  constexpr unsigned kMost = 8, kWaiting = 3;
  Queues& queues = lasting(kMost);
  std::barrier<> all_started(kMost);
  std::vector<tgt_event_t> events;
  for (unsigned i = 0; i < kMost; ++i)
    events.push_back(add(queues, {}, [&] {
      all_started.arrive_and_wait();
      return 0;
    }));
  for (const tgt_event_t event : events)
    CHECK(queues.wait(event) == 0);

  Gate gate;
  for (unsigned i = 0; i < kMost; ++i)
    events.push_back(add(queues, {}, gate.body())); // every worker is taken
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kWaiting; ++i)
    threads.emplace_back([&] {
      const tgt_event_t first = add(queues, {}, [&] {
        ++ran;
        return 0;
      });
      ran += queues.wait(add(queues, {first})) == 0;
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(ran == 2 * kWaiting);
  gate.open();
  for (const tgt_event_t event : events)
    CHECK(queues.wait(event) == 0);
}

TEST_CASE("several threads wait for one event, and one that is released meanwhile") {
  Queues& queues = lasting();
  Gate gate;
  const tgt_event_t slow = add(queues, {}, [] { return fail("a reason"); });
  const tgt_event_t behind = add(queues, {}, gate.body());
  const tgt_event_t event = add(queues, {behind, slow});
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] { heard += queues.wait(event) == 1; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20)); // most of them wait by then
  CHECK(queues.events.release(event) == 0);
  gate.open();
  for (std::thread& thread : threads)
    thread.join();
  CHECK(heard == 3);
}

namespace {

// Random program of one thread: each operation checks that its dependences have ended, and that nothing else of its
// stream runs.
struct RandomProgram {
  struct Done {
    std::atomic<bool> ended{false};
    std::size_t stream = 0;
    bool fails = false;
    tgt_event_t event = nullptr;
  };
  static constexpr std::size_t kLength = 60;

  RandomProgram(Queues& to, unsigned seed) : queues(to), random(seed) {}
  std::size_t any(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); }

  void add_one(std::size_t number) {
    Done& one = all[number];
    std::vector<std::size_t> before;
    std::vector<tgt_event_t> dependences;
    for (std::size_t left = number == 0 ? 0 : any(4); left > 0; --left) {
      const bool none = any(4) == 0;
      before.push_back(any(number));
      dependences.push_back(none ? nullptr : all[before.back()].event);
      if (none)
        before.pop_back();
    }
    one.stream = !dependences.empty() && dependences[0] ? all[before[0]].stream : number;
    const bool fails_itself = any(12) == 0, joins = any(5) == 0;
    one.fails = !joins && fails_itself;
    for (const std::size_t other : before)
      one.fails = one.fails || all[other].fails;
    one.event = add(queues, dependences, joins ? Body() : Body([this, &one, before, fails_itself] {
                      if (inside[one.stream]++ != 0)
                        ++faults;
                      for (const std::size_t other : before)
                        faults += !all[other].ended;
                      std::this_thread::yield();
                      one.ended = true;
                      --inside[one.stream];
                      return fails_itself ? fail("it fails") : 0;
                    }));
    if (joins)
      one.ended = true; // others only look at what has a body
  }

  int run() {
    for (std::size_t i = 0; i < kLength; ++i) {
      add_one(i);
      if (any(10) == 0) {
        const std::size_t waited = any(i + 1);
        faults += (queues.wait(all[waited].event) != 0) != all[waited].fails;
      }
    }
    for (std::size_t i = 0; i < kLength; ++i) {
      faults += (queues.wait(all[i].event) != 0) != all[i].fails;
      faults += (queues.query(all[i].event) != 0) != all[i].fails;
      faults += queues.events.release(all[i].event) != 0;
    }
    return faults;
  }

  Queues& queues;
  std::mt19937 random;
  std::array<Done, kLength> all{};
  std::array<std::atomic<int>, kLength> inside{};
  std::atomic<int> faults{0};
};

} // namespace

TEST_CASE("random programs of several threads keep the order they ask for") {
  constexpr unsigned kThreads = 4, kPrograms = 60;
  Queues& queues = lasting();
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < kThreads; ++number)
    threads.emplace_back([&, number] {
      for (unsigned i = 0; i < kPrograms; ++i)
        faults += RandomProgram(queues, number * kPrograms + i).run();
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(faults == 0);
}
