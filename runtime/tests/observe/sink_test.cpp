// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/sink.h"

#include <doctest/doctest.h>
#include <functional>
#include <string>
#include <vector>

using namespace omptool::observe;

namespace {

class Heard : public Listener {
public:
  Heard() { subscribe(*this); }
  ~Heard() { unsubscribe(*this); }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;
  void hear(const Event& event) override {
    events.push_back(event);
    if (then)
      then(event);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Event& event : events)
      if (const auto* const ran = std::get_if<ImageFunctionRan>(&event))
        all.push_back(ran->name);
    return all;
  }
  std::vector<Event> events;
  std::function<void(const Event&)> then;
};

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
    if (const auto* const ran = std::get_if<ImageFunctionRan>(&event); ran && ran->name == "a") {
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
    Operation operation = begin({Operation::Kind::kToDevice, 3, nullptr, nullptr, 8});
    CHECK(operation.construct == Construct::current());
    end(operation, false);
  }
  CHECK(Construct::current() == 0);
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
    return begin({Operation::Kind::kFromDevice, 0, nullptr, nullptr, 8});
  }();
  end(operation, true);
  REQUIRE(one.events.size() == 4);
  CHECK(std::get<OperationEnds>(one.events[3]).operation.construct ==
        std::get<ConstructBegins>(one.events[0]).construct);
}

TEST_CASE("a construct within another one is not it") {
  Heard one;
  const Construct outer(some_call());
  const std::uint64_t number = Construct::current();
  {
    const Construct inner(some_call());
    CHECK(Construct::current() != number);
  }
  CHECK(Construct::current() == number);
}

TEST_CASE("what the runtime does for itself is not reported") {
  Heard one;
  const Unheard here;
  Operation operation = begin({Operation::Kind::kAllocate, 0, nullptr, nullptr, 8});
  end(operation, true);
  CHECK(one.events.empty());
}
