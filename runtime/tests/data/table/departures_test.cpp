// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that departs: who maps it anew comes after the last construct that had it there, part by part.
#include "data/table/departures.h"

#include <doctest/doctest.h>

using namespace omptool;

namespace {

using Events = std::vector<EventPtr>;

EventPtr make_event() {
  return std::make_shared<Event>();
}

struct Tried {
  Departures all;
  Events over;
  EventPtr add(std::uintptr_t begin, std::uintptr_t end) {
    EventPtr made = make_event();
    all.add({begin, end}, made, over);
    return made;
  }
};

} // namespace

TEST_CASE("a range comes after what departs in it, and after nothing beside it") {
  Tried tried;
  const EventPtr first = tried.add(100, 200), second = tried.add(200, 300);
  CHECK(tried.all.pending({0, 100}).empty());
  CHECK(tried.all.pending({300, 400}).empty());
  CHECK(tried.all.pending({199, 200}) == Events{first});
  CHECK(tried.all.pending({150, 201}) == Events{first, second});
  CHECK(tried.over.empty());
}

TEST_CASE("what departs where something has departed takes its place") {
  Tried tried;
  const EventPtr first = tried.add(100, 200), second = tried.add(100, 200);
  CHECK(tried.over == Events{first});
  CHECK(tried.all.pending({0, 1000}) == Events{second});
}

TEST_CASE("what has departed in part keeps the rest on both sides") {
  Tried tried;
  const EventPtr whole = tried.add(100, 200), middle = tried.add(120, 150);
  CHECK(tried.over == Events{whole}); // it is held by the rest besides
  CHECK(tried.all.pending({100, 120}) == Events{whole});
  CHECK(tried.all.pending({120, 150}) == Events{middle});
  CHECK(tried.all.pending({150, 200}) == Events{whole});
  tried.all.forget({100, 200}, whole);
  CHECK(tried.all.pending({0, 1000}) == Events{middle});
}

TEST_CASE("a construct that ends forgets its own departures alone") {
  Tried tried;
  const EventPtr first = tried.add(100, 200), second = tried.add(180, 220);
  tried.all.forget({100, 200}, first);
  CHECK(tried.all.pending({100, 300}) == Events{second});
}

TEST_CASE("nobody comes after what is done") {
  Tried tried;
  const EventPtr only = tried.add(100, 200);
  only->set_done();
  CHECK(tried.all.pending({100, 200}).empty());
}
