// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for the objects of devices, each between pages that cannot be touched. All lies in one range of addresses, in
// which each size has slots at fixed distances: a signal handler finds the object of any address by arithmetic.
#pragma once

#include "observe/memory_guard.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace omptool::check {

// A set of parts of an object's pages.
class Parts {
public:
  static constexpr std::size_t kMost = 256;
  bool has(std::size_t part) const { return word(part).load() >> part % 64 & 1; }
  // Returns whether it had not.
  bool add(std::size_t part) { return !(word(part).fetch_or(bit(part)) & bit(part)); }
  void remove(std::size_t part) { word(part).fetch_and(~bit(part)); }
  bool any() const;
  void clear();

private:
  static std::uint64_t bit(std::size_t part) { return std::uint64_t{1} << part % 64; }
  const std::atomic<std::uint64_t>& word(std::size_t part) const { return words_[part / 64]; }
  std::atomic<std::uint64_t>& word(std::size_t part) { return words_[part / 64]; }
  std::array<std::atomic<std::uint64_t>, kMost / 64> words_;
};

constexpr std::byte kEdge{0xa5}; // value of the bytes beside an object

// An object, and the pages in which it lies. The record of a slot never goes. Zeros: it has never been used.
struct GuardedObject {
  std::atomic<bool> is_live;
  int device;
  const void* host;   // null: it is no variable's
  std::uint64_t born; // the construct that created it; 0: none
  std::byte* begin;
  std::size_t size;
  std::array<char, 64> name; // of the variable; "": unknown
  bool has_edges;            // the bytes beside the object are as take() has left them, or a kernel wrote there

  std::byte* pages; // that may be touched, to the end of the slot
  std::size_t room; // bytes of those
  std::size_t part; // bytes of each part
  Parts written;    // by anybody
  Parts closed;     // pages without access
  std::atomic<bool> kernel_wrote;
  std::atomic<bool> waits; // for close_unwritten()
  GuardedObject* next_waiting;
  GuardedObject* next_free;

  std::size_t parts() const { return (room + part - 1) / part; }
  std::size_t part_of(const std::byte* address) const { return static_cast<std::size_t>(address - pages) / part; }
  // Returns the bytes beside the object on its pages, at most a cache line on each side.
  std::array<std::span<std::byte>, 2> edges() const;
  bool has_page(const std::byte* address) const {
    return is_live.load(std::memory_order_acquire) && address >= pages && address < pages + room;
  }
};

// Refusal: the reason why an object gets no guarded memory.
enum class Refusal { kAddresses, kSize, kNumber };

class Slots {
public:
  static constexpr std::size_t kGuard = std::size_t{64} << 10; // between two slots; far faults are found, too

  // Takes a slot. Returns null, and sets the reason, if the system has no room, or no slot is free.
  GuardedObject* take(const observe::MemoryRequest& request, Refusal& why);
  void give_back(GuardedObject& object);

  // Lock-free functions.

  // Returns the record of the slot that an address is in, or is before; null: the address is elsewhere.
  GuardedObject* at(const void* address) const;
  // Returns the live object that is next to an address outside all objects; null: no object lives there.
  GuardedObject* nearest(const void* address) const;
  std::size_t page() const { return page_; }

  // Locks the slots, across a fork: a child finds the lock free.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

private:
  static constexpr std::size_t kSizes = 24;
  static constexpr std::size_t kMostSpan = std::size_t{1} << 37;  // addresses of slots of one size
  static constexpr std::size_t kLeastSpan = std::size_t{1} << 20; // fewer are of no use
  static constexpr std::size_t kMostSlots = 16384;                // of one size
  static constexpr std::size_t kMostLive = 24576; // the system allows 65530 mappings, and each object has two
  static constexpr std::size_t kMostKept = std::size_t{64} << 20; // bytes of free slots

  bool reserve();
  bool reserve(std::size_t span);
  GuardedObject* take_slot(std::size_t size);
  bool open(GuardedObject& object, std::byte* pages, std::size_t room) const;
  std::size_t room_of(std::size_t size) const { return page_ << size; }
  std::size_t stride_of(std::size_t size) const { return kGuard + room_of(size); }
  std::size_t slots_of(std::size_t size) const;
  std::byte* end_of(const GuardedObject& object) const;

  std::mutex mutex_;
  bool is_refused_ = false;
  std::size_t page_ = 0;
  std::size_t span_ = 0;  // addresses of slots of one size: fewer where the process may have few
  std::size_t slots_ = 0; // records of one size
  std::atomic<std::byte*> base_{nullptr};
  GuardedObject* records_ = nullptr; // slots_ for each size
  std::array<std::size_t, kSizes> used_{};
  std::array<GuardedObject*, kSizes> free_{};
  std::size_t live_ = 0, kept_ = 0;
};

} // namespace omptool::check
