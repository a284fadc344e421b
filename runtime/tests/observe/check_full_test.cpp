// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/digest.h"
#include "check/full/host_watch.h"
#include "check/full/instruction.h"
#include "check/full/slots.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <doctest/doctest.h>
#include <initializer_list>
#include <map>
#include <random>
#include <vector>

using namespace omptool::check;

namespace {

// Returns the only slots of the program: they reserve so many addresses that ThreadSanitizer leaves none for a second
// object.
Slots& only_slots() {
  static Slots slots;
  return slots;
}
Refusal why_not{};
GuardedObject* take(const omptool::observe::MemoryRequest& wanted) {
  return only_slots().take(wanted, why_not);
}

} // namespace

TEST_CASE("in its slot an object ends where its last page does, as far as its alignment allows") {
  Slots& slots = only_slots();
  struct Case {
    std::uintptr_t host;
    std::size_t size, padding, alignment, behind;
  };
  for (const Case& one : {Case{0x1010, 404, 0, 1, 0}, Case{0x1004, 400, 0, 1, 0}, Case{0x1000, 4096, 0, 1, 0},
                          Case{0x1008, 20, 8, 16, 4}, Case{0, 404, 0, 1, 12}, Case{0x1001, 1, 0, 1, 0}}) {
    GuardedObject* const object =
        take({0, reinterpret_cast<const void*>(one.host), one.size, one.padding, one.alignment, 0});
    REQUIRE(object);
    const std::byte* const end = object->pages + object->room;
    CHECK(end - (object->begin + object->size) == static_cast<std::ptrdiff_t>(one.behind));
    CHECK((reinterpret_cast<std::uintptr_t>(object->begin) - one.padding) % one.alignment == 0);
    std::memset(object->begin, 1, object->size);
    CHECK(slots.at(object->begin) == object);
    CHECK(slots.nearest(end) == object);
    CHECK(slots.nearest(object->pages - 1) == object);
    slots.give_back(*object);
    CHECK(slots.nearest(end) == nullptr);
  }
}

TEST_CASE("in slots no two objects share memory, and each address leads to its object") {
  Slots& slots = only_slots();
  std::map<const std::byte*, GuardedObject*> live; // by its pages
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    if (live.size() < 50 || random() % 2) {
      const std::size_t size = random() % 8 ? 1 + random() % 20000 : 1 + random() % 3000000;
      GuardedObject* const object = take({0, nullptr, size, 0, 1, 0});
      REQUIRE(object);
      const auto [at, is_new] = live.emplace(object->pages, object);
      REQUIRE(is_new);
      if (const auto next = std::next(at); next != live.end())
        CHECK(object->pages + object->room + Slots::kGuard <= next->first);
      if (at != live.begin())
        CHECK(std::prev(at)->first + std::prev(at)->second->room + Slots::kGuard <= object->pages);
      object->begin[0] = object->begin[size - 1] = std::byte{1};
      CHECK(slots.at(object->begin + random() % size) == object);
    } else {
      const auto gone = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      slots.give_back(*gone->second);
      live.erase(gone);
    }
  }
  for (const auto& [pages, object] : live)
    slots.give_back(*object);
}

TEST_CASE("in slots what is no object's address leads nowhere") {
  Slots& slots = only_slots();
  int own = 0;
  CHECK(slots.at(&own) == nullptr);
  CHECK(take({0, nullptr, SIZE_MAX / 2, 0, 1, 0}) == nullptr);
  CHECK(why_not == Refusal::kSize);
  GuardedObject* const object = take({0, nullptr, 8, 0, 1, 0});
  REQUIRE(object);
  CHECK(slots.at(&own) == nullptr);
  CHECK(slots.at(nullptr) == nullptr);
}

TEST_CASE("in slots the bytes beside an object are known") {
  GuardedObject* const object = take({0, reinterpret_cast<const void*>(0x1010), 40, 0, 1, 0});
  REQUIRE(object);
  REQUIRE(object->has_edges);
  for (const auto edge : object->edges())
    CHECK(std::all_of(edge.begin(), edge.end(), [](std::byte one) { return one == kEdge; }));
  CHECK(object->edges()[0].size() == 64);
  CHECK(object->edges()[1].empty());
}

#if defined(__x86_64__)
TEST_CASE("instructions: which writes use what was there") {
  using Code = std::array<std::uint8_t, 8>;
  for (const Code& uses : {Code{0x01, 0x07},                    // add %eax,(%rdi)
                           Code{0x83, 0x07, 0x01},              // addl $1,(%rdi)
                           Code{0xff, 0x07},                    // incl (%rdi)
                           Code{0xf0, 0x48, 0x0f, 0xc1, 0x07},  // lock xadd %rax,(%rdi)
                           Code{0xf7, 0x17},                    // notl (%rdi)
                           Code{0xf0, 0x0f, 0xb1, 0x0f},        // lock cmpxchg %ecx,(%rdi)
                           Code{0x66, 0xc1, 0x27, 0x02},        // shlw $2,(%rdi)
                           Code{0x48, 0x0f, 0xba, 0x2f, 0x03}}) // btsq $3,(%rdi)
    CHECK(uses_what_it_writes(uses.data()));
  for (const Code& stores : {Code{0x89, 0x07},                    // mov %eax,(%rdi)
                             Code{0xc7, 0x07, 0x01},              // movl $1,(%rdi)
                             Code{0x87, 0x07},                    // xchg %eax,(%rdi)
                             Code{0xf3, 0x48, 0xab},              // rep stosq
                             Code{0x0f, 0x11, 0x07},              // movups %xmm0,(%rdi)
                             Code{0xc5, 0xfc, 0x11, 0x07},        // vmovups %ymm0,(%rdi)
                             Code{0x62, 0xf1, 0x7c, 0x48, 0x11}}) // vmovups %zmm0,(%rdi)
    CHECK_FALSE(uses_what_it_writes(stores.data()));
}
#endif

TEST_CASE("digests: each byte counts, and the length") {
  std::vector<unsigned char> bytes(100);
  const std::uint64_t zeros = digest_of(bytes.data(), bytes.size());
  CHECK(digest_of(bytes.data(), 99) != zeros);
  for (unsigned char& byte : bytes) {
    byte = 1;
    CHECK(digest_of(bytes.data(), bytes.size()) != zeros);
    byte = 0;
  }
  CHECK(digest_of(bytes.data(), bytes.size()) == zeros);
}

TEST_CASE("host watch: a word lies in its object, and is aligned") {
  alignas(8) const std::array<char, 32> memory{};
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const auto word = [&](std::size_t from, std::size_t size, std::size_t offset) {
    const Word found = word_at(memory.data() + from, size, offset);
    return std::pair(found.address - begin, found.size);
  };
  CHECK(word(0, 32, 17) == std::pair<std::uintptr_t, std::size_t>(16, 8));
  CHECK(word(4, 4, 0) == std::pair<std::uintptr_t, std::size_t>(4, 4));
  CHECK(word(4, 12, 0) == std::pair<std::uintptr_t, std::size_t>(4, 4));
  CHECK(word(1, 3, 0) == std::pair<std::uintptr_t, std::size_t>(1, 1));
  CHECK(word(1, 3, 2) == std::pair<std::uintptr_t, std::size_t>(2, 2));
}
