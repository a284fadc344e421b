// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels by host address: a trie that is never changed once it is published, so that launches look into it
// without a lock (see threads/hazard_pointers.h). A copy that is changed shares with the original all nodes but
// those on the way to the change: programs that compile while they run register libraries all the time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace omptool {

struct Kernel;

class KernelIndex {
public:
  // Null: none is there.
  const std::shared_ptr<Kernel>& find(const void* address) const {
    const Node* node = &root_;
    for (std::uint64_t hash = hash_of(address);; hash <<= kBits) {
      const Slot& slot = (*node)[hash >> (64 - kBits)];
      if (slot.address == address) // null in an empty slot, and in one that leads on
        return slot.kernel;
      if (!slot.below)
        return kNone;
      node = slot.below.get();
    }
  }
  void set(const void* address, std::shared_ptr<Kernel> kernel) { set(root_, 0, address, std::move(kernel)); }
  void erase(const void* address) { erase(root_, 0, address); }

private:
  static constexpr unsigned kBits = 4;
  struct Slot;
  using Node = std::array<Slot, 1U << kBits>;
  // Empty, a kernel, or those that begin with the same bits. In one line of the cache.
  struct alignas(64) Slot {
    const void* address = nullptr;
    std::shared_ptr<Kernel> kernel;
    std::shared_ptr<Node> below;
  };
  // Fibonacci hashing (Knuth, volume 3, 6.4): addresses of neighbours come in even steps, and no two have one hash.
  static std::uint64_t hash_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15ULL;
  }
  static Slot& slot_at(Node& node, unsigned depth, const void* address) {
    return node[hash_of(address) << (kBits * depth) >> (64 - kBits)];
  }
  // A node that another index has as well is copied before it is changed.
  static Node& own(std::shared_ptr<Node>& node) {
    if (node.use_count() > 1)
      node = std::make_shared<Node>(*node);
    return *node;
  }

  static void set(Node& node, unsigned depth, const void* address, std::shared_ptr<Kernel> kernel) {
    Slot& slot = slot_at(node, depth, address);
    if (!slot.below && (!slot.kernel || slot.address == address)) {
      slot.address = address;
      slot.kernel = std::move(kernel);
      return;
    }
    if (!slot.below) {
      slot.below = std::make_shared<Node>();
      set(*slot.below, depth + 1, std::exchange(slot.address, nullptr), std::move(slot.kernel));
    }
    set(own(slot.below), depth + 1, address, std::move(kernel));
  }

  // Returns whether the node is empty then.
  static bool erase(Node& node, unsigned depth, const void* address) {
    Slot& slot = slot_at(node, depth, address);
    if (slot.below ? erase(own(slot.below), depth + 1, address) : slot.address == address)
      slot = {};
    return std::none_of(node.begin(), node.end(), [](const Slot& one) { return one.kernel || one.below; });
  }

  static inline const std::shared_ptr<Kernel> kNone;
  Node root_{};
};

} // namespace omptool
