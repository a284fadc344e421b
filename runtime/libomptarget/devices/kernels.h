// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/library.h"
#include "threads/hazard_pointers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <forward_list>
#include <shared_mutex>
#include <utility>

namespace omptool {

// Recent duration of an operation. It falls to a shorter duration at once and grows by a quarter each time, so that one
// that waited for a processor, or for its image to be loaded, does not count.
class RecentTime {
public:
  using Time = std::chrono::nanoseconds;
  Time get() const { return Time(time_.load(std::memory_order_relaxed)); }
  void note(Time time) {
    constexpr Time kStep = std::chrono::microseconds(1);
    const Time known = get();
    time_.store(std::min(time, known + known / 4 + kStep).count(), std::memory_order_relaxed);
  }
  // Lowers the time a little, so that the slower thread is measured again.
  void fade() { time_.store((get() - get() / 64).count(), std::memory_order_relaxed); }

private:
  std::atomic<Time::rep> time_{0};
};

// Kernel by its host address. Several libraries may list one host address: bundled objects of one executable share its
// entry table, each with its own images.
struct Kernel {
  struct Loaded {
    int device = -1;
    void* function = nullptr;
    bool takes_shape = false;    // see Launching
    bool opens_parallel = false; // as the plugin reports
    std::shared_ptr<LoadedImage> image;
    const Loaded* next = nullptr;
  };
  explicit Kernel(std::vector<LibraryEntry> its_owners)
      : name(name_of(its_owners.back().entry())), owners(std::move(its_owners)) {}
  const std::string name;
  std::string title() const; // in messages: "work:5"
  const std::vector<LibraryEntry> owners;
  // Loaded findings: written under the lock of the table of kernels, read without it.
  mutable std::atomic<const Loaded*> loaded{nullptr};
  mutable std::forward_list<Loaded> kept; // all that `loaded` ever led to; under that lock
  const Loaded* on(int device) const {
    const Loaded* one = loaded.load(std::memory_order_acquire);
    while (one && one->device != device)
      one = one->next;
    return one;
  }
  // Times of this kernel's regions with nowait, by the thread that ran them.
  mutable RecentTime on_task_thread, on_core_thread;
  std::vector<HostRange> globals() const;
  bool in_several_objects() const;
  struct Found {
    std::shared_ptr<LoadedImage> image; // null: none has it
    void* function = nullptr;
    bool takes_shape = false, opens_parallel = false; // as in Loaded: the caller asks the plugin, without the lock
    bool any_image = false;
    std::string reason; // why none has it; "": no image lists it
  };
  // Searches the images of a device, by its number. The caller holds the lock of the table, here and below.
  Found search(int device) const;
  // Keeps the findings, unless another thread has stored some, and returns the stored ones.
  const Loaded* keep(int device, const Found& found) const;

private:
  // Returns why the address fits several kernels, or "".
  std::string ambiguity() const;
};

// Resolved kernel on a device. Valid as long as the KernelUse that it comes from.
struct Resolved {
  void* function = nullptr; // null: it is not there
  Launching how;
};

// Kernels by host address: a trie that is never changed once it is published, so that launches look into it
// without a lock (see threads/hazard_pointers.h). A copy that is changed shares with the original all nodes but
// those on the way to the change: programs that compile while they run register libraries all the time.
class KernelIndex {
public:
  // Finds the kernel of an address, or null.
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
  // Sets the kernel of an address; null removes it.
  void set(const void* address, std::shared_ptr<Kernel> kernel) { set(root_, 0, address, std::move(kernel)); }

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

  // Returns whether the node is empty then.
  static bool set(Node& node, unsigned depth, const void* address, std::shared_ptr<Kernel> kernel) {
    Slot& slot = slot_at(node, depth, address);
    if (kernel && slot.kernel && slot.address != address) { // another address's, which moves down
      slot.below = std::make_shared<Node>();
      set(*slot.below, depth + 1, std::exchange(slot.address, nullptr), std::move(slot.kernel));
    }
    if (slot.below) {
      if (set(own(slot.below), depth + 1, address, std::move(kernel)))
        slot.below = nullptr;
    } else if (kernel || slot.address == address) {
      slot.address = kernel ? address : nullptr;
      slot.kernel = std::move(kernel);
    }
    return std::none_of(node.begin(), node.end(), [](const Slot& one) { return one.kernel || one.below; });
  }

  static inline const std::shared_ptr<Kernel> kNone;
  Node root_{};
};

// The kernels of all libraries, by host address. Launches look into an index that is never changed, without a lock; it
// goes when the launches that use it have ended.
class KernelTable {
public:
  const std::atomic<const KernelIndex*>& published() const { return published_; }
  // Indexes and kernels that launches may still use.
  Retired& retired() { return retired_; }
  // Returns whether several libraries have a kernel with one name and one address: then regions look up their libraries
  // by address.
  bool any_shared_name() const { return any_shared_name_.load(std::memory_order_acquire); }

  // Returns the kernel alone: its name and its library.
  std::shared_ptr<Kernel> find(const void* host_address) const {
    const std::shared_lock lock(mutex_);
    return index_->find(host_address);
  }
  // Returns the address that stands for the kernel of the caller's own executable or library.
  const void* meant_by(const void* host_address, const void* caller) const;
  // Returns the kernel on the device; null, and why, if it is not there.
  const Kernel::Loaded* look_for(const Kernel& kernel, Device& device, std::string& reason);
  // Sends the regions of the kernel's libraries to the host: a constructor could not run on this device.
  void mark_unusable(const Kernel& kernel, int device, const std::string& reason);
  void add(const std::shared_ptr<Library>& library);
  void remove(const std::shared_ptr<Library>& library);

private:
  void replace(KernelIndex& index, const void* address, std::vector<LibraryEntry> owners);
  void publish(KernelIndex changed);

  mutable std::shared_mutex mutex_; // guards the index and the kernels' findings
  std::shared_ptr<const KernelIndex> index_ = std::make_shared<KernelIndex>();
  std::atomic<const KernelIndex*> published_{index_.get()};
  std::atomic<bool> any_shared_name_{false};
  Retired retired_;
};

} // namespace omptool
