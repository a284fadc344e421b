// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An object's answers to the constructs that count it, and the hints and ranges by which it is found.
#include "data/table/object.h"
#include "data/table/object_hints.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <doctest/doctest.h>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace omptool;

namespace {

constexpr HostRange kRange{0x1000, 0x1040};

struct Made {
  std::atomic<std::int64_t> unsound{0};
  Object object{unsound};
  int call = 0, other = 0; // addresses of two calls
  explicit Made(Object::Beginning with = {.host = kRange}) { object.begin(std::move(with), nullptr, 0); }
};

Object::Uncount one_reference() {
  return {false, true, false};
}

} // namespace

TEST_CASE("an object leaves with the call that takes the last reference away") {
  Made made;
  CHECK(made.object.enter(kRange, kRange.begin, nullptr, nullptr) == Object::Found::kPresent);
  CHECK(made.object.pin(Count::kHold) == Object::State::kPresent);
  CHECK(made.object.uncount(one_reference(), true, &made.call) == Object::Left::kUnpinned);
  CHECK(!made.object.is_left_by(&made.call));
  CHECK(made.object.uncount({true, true, false}, true, &made.call) == Object::Left::kLeaves);
  CHECK(made.object.is_left_by(&made.call));
  CHECK(!made.object.is_left_by(&made.other));
  CHECK(made.object.pin() == Object::State::kLeaving);
  CHECK(made.object.snapshot().references == 0);
}

TEST_CASE("only the range and the state that were sought are an exact match") {
  Made made({.host = kRange, .references = 1});
  const auto enter = [&](HostRange wanted) { return made.object.enter(wanted, wanted.begin, nullptr, nullptr); };
  CHECK(enter({kRange.begin + 8, kRange.end}) == Object::Found::kNo);
  CHECK(enter({kRange.begin, kRange.end + 1}) == Object::Found::kNo);
  CHECK(enter({kRange.begin, kRange.begin + 8}) == Object::Found::kPresent);
  made.object.enclose();
  CHECK(enter(kRange) == Object::Found::kNo);
  CHECK(made.object.snapshot().references == 2);
}

TEST_CASE("a new object is present when the call that creates it has filled it") {
  Made made;
  Object filling(made.unsound);
  filling.begin({.host = kRange, .maker = &made.call}, nullptr, 0);
  CHECK(filling.standing(&made.call).is_own);
  CHECK(!filling.standing(&made.other).is_own);
  CHECK(!filling.filled(true, &made.other));
  CHECK(filling.await());
  CHECK(filling.state() == Object::State::kFilling);
  CHECK(filling.filled(true, &made.call)); // somebody waits
  CHECK(filling.state() == Object::State::kPresent);
  CHECK(!filling.await());
}

TEST_CASE("what is wrong with an object is counted until it leaves") {
  Made made;
  made.object.break_off();
  made.object.break_off();
  CHECK(made.unsound == 2); // unusable, and newer on the host
  made.object.mark(false);
  CHECK(made.unsound == 1);
  made.object.remove(true);
  CHECK(made.unsound == 0);
  made.object.mark(true); // no region will ask for it
  CHECK(made.unsound == 0);
}

TEST_CASE("attached pointers are found in a range by address") {
  Made made;
  int pointee = 0;
  for (const std::uintptr_t cell : {0x1020U, 0x1008U, 0x1030U})
    CHECK(made.object.attach(cell, &pointee, 7, true) == Object::Attached::kNew);
  CHECK(made.object.attach(0x1008, &pointee, 9, true) == Object::Attached::kKnown);
  CHECK(made.object.attach(0x1008, nullptr, 9, true) == Object::Attached::kKnown);
  const std::vector<HostRange> found = made.object.pointers({0x100f, 0x1030});
  REQUIRE(found.size() == 2);
  CHECK(found[0].begin == 0x1008);
  CHECK(found[1].begin == 0x1020);
  CHECK(made.object.pointees() == std::vector<std::uintptr_t>{9, 7, 7});
  made.object.detach(0x1008);
  CHECK(made.object.attach(0x1008, &pointee, 9, true) == Object::Attached::kNew);
}

TEST_CASE("a set of ranges contains what one of them contains") {
  std::mt19937 random(53);
  std::vector<HostRange> all;
  RangeSet set;
  for (int i = 0; i < 500; ++i) {
    const std::uintptr_t begin = random() % 300;
    const HostRange range{begin, begin + 1 + random() % 30};
    bool is_contained = false;
    for (const HostRange one : all)
      is_contained = is_contained || one.contains(range);
    REQUIRE(set.contains(range) == is_contained);
    if (i % 3 == 0) {
      all.push_back(range);
      set.add(range);
    }
  }
  for (const HostRange range : set.all())
    CHECK(set.contains(range));
}

TEST_CASE("hints find objects while others are added and erased") {
  std::atomic<std::int64_t> unsound{0};
  std::deque<Object> objects;
  ObjectHints hints;
  for (std::uintptr_t i = 0; i < 5000; ++i)
    objects.emplace_back(unsound).begin({.host = {64 * (i + 1), 64 * (i + 2)}}, nullptr, 0);
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends)
      for (std::uintptr_t i = 0; i < 5000; ++i)
        if (Object* const found = hints.find(64 * (i + 1))) // perhaps out of date
          static_cast<void>(found->enter({64 * (i + 1), 64 * (i + 2)}, 0, nullptr, nullptr));
  });
  std::size_t found = 0;
  for (Object& object : objects)
    hints.add(object.host().begin, object);
  for (Object& object : objects)
    found += hints.find(object.host().begin) == &object ? 1 : 0;
  CHECK(found > 4900); // some lose their hints
  for (Object& object : objects)
    hints.erase(object.host().begin, object);
  for (Object& object : objects)
    CHECK(hints.find(object.host().begin) == nullptr);
  ends = true;
  reader.join();
}
