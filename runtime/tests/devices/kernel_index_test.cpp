// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/kernels.h"

#include <doctest/doctest.h>
#include <map>
#include <random>

using namespace omptool;

namespace {

// Neighbours, as the addresses of kernels are.
constexpr std::uintptr_t kAddresses = 3000;
const void* address(std::uintptr_t number) {
  return reinterpret_cast<const void*>(0x4000 + number);
}

struct Both {
  KernelIndex index;
  std::map<const void*, std::shared_ptr<Kernel>> model;
  bool agree() const {
    for (std::uintptr_t i = 0; i < kAddresses; ++i) {
      const auto known = model.find(address(i));
      if (index.find(address(i)) != (known == model.end() ? nullptr : known->second))
        return false;
    }
    return !index.find(nullptr);
  }
};

} // namespace

TEST_CASE("an index of kernels holds what a map does, and its copies stay as they are") {
  const auto library = std::make_shared<Library>(1, nullptr, LoadedObject());
  library->table.add({nullptr, "kernel", 0, EntryKind::kKernel, 0});
  std::mt19937 random(28);
  Both now, before;
  for (int round = 0; round < 40; ++round) {
    before = now;
    const unsigned rarely = round % 2 ? 4 : 2; // it grows, and shrinks
    for (int i = 0; i < 500; ++i) {
      const void* const at = address(random() % kAddresses);
      if (random() % 5 < rarely) {
        const auto kernel = std::make_shared<Kernel>(std::vector<LibraryEntry>{{library, 0}});
        now.index.set(at, kernel);
        now.model[at] = kernel;
      } else {
        now.index.set(at, nullptr);
        now.model.erase(at);
      }
    }
    REQUIRE(now.agree());
    REQUIRE(before.agree());
  }
  for (std::uintptr_t i = 0; i < kAddresses; ++i)
    now.index.set(address(i), nullptr);
  now.model.clear();
  CHECK(now.agree());
  CHECK(before.agree());
}
