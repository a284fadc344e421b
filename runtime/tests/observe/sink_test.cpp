// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/events/sink.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace omptool::observe;

namespace {

class Heard final : public Listener {
public:
  explicit Heard(std::uint32_t what = kHeard | kBegins) { subscribe(*this, what); }
  ~Heard() { unsubscribe(*this); }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;
  void hear(const Event& event) override {
    events.push_back(kept(event));
    if (then)
      then(event);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const KeptEvent& event : events)
      if (const auto* const ran = std::get_if<ImageFunctionRan>(&event))
        all.push_back(ran->name);
    return all;
  }
  std::vector<KeptEvent> events;
  std::function<void(const Event&)> then;
};

Operation begun(Operation operation) {
  begin(operation);
  return operation;
}

void report_named(const char* name) {
  report(ImageFunctionRan{0, name, false});
}

Call some_call() {
  return {Abi::kInterface, Action::kUpdate, "__tgt_target_data_update", nullptr};
}

} // namespace

TEST_CASE("nobody is told before and after somebody listens") {
  CHECK(!heard());
  report_named("before");
  {
    const Heard one;
    CHECK(heard());
    CHECK(one.events.empty());
  }
  CHECK(!heard());
}

TEST_CASE("several listen, each as long as it wants to") {
  Heard one;
  report_named("a");
  {
    Heard two;
    report_named("b");
    CHECK(two.names() == std::vector<std::string>{"b"});
  }
  report_named("c");
  CHECK(one.names() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("each of nine listeners hears an event, and their places are used again") {
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<Heard>> all;
    for (int i = 0; i < 9; ++i)
      all.push_back(std::make_unique<Heard>());
    report_named("a");
    all.erase(all.begin());
    report_named("b");
    for (const std::unique_ptr<Heard>& one : all)
      CHECK(one->names() == std::vector<std::string>{"a", "b"});
  }
  CHECK(!heard());
}

TEST_CASE("threads may subscribe at the same time") {
  constexpr int kThreads = 4, kEach = 8;
  std::vector<std::unique_ptr<Heard>> all(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&all, i] {
      for (int j = 0; j < kEach; ++j)
        all[static_cast<std::size_t>(i * kEach + j)] = std::make_unique<Heard>();
    });
  for (std::thread& thread : threads)
    thread.join();
  report_named("a");
  for (const std::unique_ptr<Heard>& one : all)
    CHECK(one->names().size() == 1);
}

TEST_CASE("what begins is reported where somebody wants to hear of it") {
  const auto begins_in = [](const Heard& one) {
    return std::count_if(one.events.begin(), one.events.end(), [](const KeptEvent& event) {
      return std::holds_alternative<ConstructBegins>(event) || std::holds_alternative<OperationBegins>(event);
    });
  };
  const auto work = [] {
    const Construct construct(some_call());
    Operation operation = begun({Operation::Kind::kFree, 0, nullptr, nullptr});
    end(operation, true);
  };
  const Heard ends_alone(kHeard);
  work();
  CHECK(begins_in(ends_alone) == 0);
  CHECK(ends_alone.events.size() == 2);
  const Heard all;
  work();
  CHECK(begins_in(all) == 2);
  CHECK(all.events.size() == 4);
}

TEST_CASE("what is reported under locks waits until the thread holds none") {
  Heard one;
  {
    const Postponed outer;
    {
      const Postponed inner;
      report_named("a");
    }
    report_named("b");
    CHECK(one.events.empty());
  }
  CHECK(one.names() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a listener may do what is reported in turn") {
  Heard one;
  one.then = [](const Event& event) {
    if (const auto* const ran = as<ImageFunctionRan>(event); ran && ran->name == "a") {
      const Postponed lock;
      report_named("inside");
    }
  };
  {
    const Postponed lock;
    report_named("a");
    report_named("b");
  }
  CHECK(one.names() == std::vector<std::string>{"a", "inside", "b"});
}

TEST_CASE("an operation tells its construct, its times, and how it ended") {
  Heard one;
  {
    const Construct construct(some_call());
    Operation operation = begun({Operation::Kind::kToDevice, 3, nullptr, nullptr, 8});
    CHECK(operation.construct == Within::current());
    end(operation, false);
  }
  CHECK(Within::current() == 0);
  REQUIRE(one.events.size() == 4);
  const auto& begun = std::get<ConstructBegins>(one.events[0]);
  const Operation& first = std::get<OperationBegins>(one.events[1]).operation;
  const Operation& last = std::get<OperationEnds>(one.events[2]).operation;
  const auto& ended = std::get<ConstructEnds>(one.events[3]);
  CHECK(begun.construct == ended.construct);
  CHECK(first.construct == begun.construct);
  CHECK(first.id == last.id);
  CHECK(last.ended >= last.began);
  CHECK(last.failed);
  CHECK(last.size == 8);
  CHECK(!ended.failed);
}

TEST_CASE("an operation may end on its own, after its construct and on another thread") {
  Heard one;
  Operation operation = [] {
    const Construct construct(some_call());
    return begun({Operation::Kind::kFromDevice, 0, nullptr, nullptr, 8});
  }();
  end(operation, true);
  REQUIRE(one.events.size() == 4);
  CHECK(std::get<OperationEnds>(one.events[3]).operation.construct ==
        std::get<ConstructBegins>(one.events[0]).construct);
}

TEST_CASE("a construct that its call leaves ends with its rest, and has what is asked for it meanwhile") {
  Heard one;
  Rest rest;
  {
    const Construct construct(some_call());
    Construct::leave(rest);
  }
  CHECK(one.events.size() == 1);
  CHECK(Within::current() == 0);
  {
    const Within here(rest.construct());
    Operation operation = begun({Operation::Kind::kToDevice, 3, nullptr, nullptr, 8});
    end(operation, true);
  }
  rest.end();
  rest.end(); // does nothing
  REQUIRE(one.events.size() == 4);
  const std::uint64_t number = std::get<ConstructBegins>(one.events[0]).construct;
  CHECK(std::get<OperationEnds>(one.events[2]).operation.construct == number);
  CHECK(std::get<ConstructEnds>(one.events[3]).construct == number);
}

TEST_CASE("a construct that is taken back ends with its call") {
  Heard one;
  {
    const Construct construct(some_call());
    Rest rest;
    Construct::leave(rest);
    Construct::take_back(rest);
  }
  CHECK(one.events.size() == 2);
}

TEST_CASE("operations show other memory than the runtime's own") {
  Heard one;
  const int shown = 0, own = 0;
  {
    const Shown here(&shown);
    begun({Operation::Kind::kToDevice, 0, &own, nullptr, 4});
  }
  begun({Operation::Kind::kToDevice, 0, &own, nullptr, 4});
  CHECK(std::get<OperationBegins>(one.events[0]).operation.host == &shown);
  CHECK(std::get<OperationBegins>(one.events[1]).operation.host == &own);
}

TEST_CASE("a construct within another one is not it") {
  Heard one;
  const Construct outer(some_call());
  const std::uint64_t number = Within::current();
  {
    const Construct inner(some_call());
    CHECK(Within::current() != number);
  }
  CHECK(Within::current() == number);
}

TEST_CASE("what the runtime does for itself is not reported") {
  Heard one;
  const Unheard here;
  Operation operation = begun({Operation::Kind::kAllocate, 0, nullptr, nullptr, 8});
  end(operation, true);
  CHECK(one.events.empty());
}
