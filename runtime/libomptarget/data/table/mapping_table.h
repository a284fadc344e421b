// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of the host memory that has a copy on one device, by address, in blocks so that neighbours share cache lines.
// It knows nothing of copies or of threads: its user holds a lock, and decides what moves.
#pragma once

#include "data/table/fallback_thread.h"
#include "host_range.h"
#include "rtl/device_memory.h"
#include "rtl/event.h"
#include "small_blocks.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace omptool {

// A pointer inside a mapped object whose device value is an address of the device. Copies of the
// object in either direction leave it alone.
struct AttachedPointer {
  void* device_value = nullptr; // what the device's copy holds
  std::uintptr_t pointee = 0;   // the host value at the time
  bool arrived = false;         // false: the device did not take it, or has yet to
};
using AttachedPointers = std::map<std::uintptr_t, AttachedPointer>; // by the host addresses of the pointers

// The two sides of an object after a region that uses it fell back. Other threads' kernels, and the
// region's host version, may still be writing, each on its own side; to tell what is new from what is
// old takes a copy of what both had.
struct Diverged {
  std::vector<std::byte> before;     // of both sides; empty: the device holds nothing yet
  std::vector<HostFallback> running; // that may still be
};

// Objects are divided by their beginnings among shards with a lock each; those in the same kilobyte share one.
constexpr std::uint64_t kAddressHash = 0x9e3779b97f4a7c15ULL;
constexpr std::size_t kAddressShards = 256;
constexpr std::uint8_t shard_number(std::uintptr_t begin) {
  return static_cast<std::uint8_t>(((begin >> 10) * kAddressHash) >> 56);
}

// Vectors and long doubles in a struct need its start where it is on the host, modulo this.
constexpr std::size_t kStructAlignment = 16;

// A launch looks at the first cache line; the next one is of those who map and unmap.
struct alignas(64) Mapping : small_blocks::Allocated {
  // An object appears when its first reference does, is filled by the call that created it, and
  // goes when the call that drops the last reference has copied it back. A vacant one is not there for
  // anybody: its place is kept for the next call that maps the same memory, which many programs do.
  enum class State : std::uint8_t { kCreating, kReady, kLeaving, kVacant, kGone };

  // Most objects have none of these.
  struct Details : small_blocks::Allocated {
    std::string name;        // of a global variable; not changed once others see the object
    std::string released_by; // the region that dropped the last reference, if a region did
    AttachedPointers pointers;
    std::vector<HostRange> parts; // of a enclosing range: what the program maps
    EventPtr written;             // the last transfer to the device that was queued; null: none was
    std::vector<EventPtr> users;  // what uses the object and may not have ended
    bool apart = false;           // part of a struct, outside of what the struct's row reserves
  };

  Mapping(HostRange range, std::byte* device_begin, const DeviceMemory* memory)
      : host(range), device(device_begin), base(range.begin), shard(shard_number(range.begin)), owner(memory) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* at(std::uintptr_t address) const {
    return device.load(std::memory_order_relaxed) + (address - host.begin);
  }

  // Returns the device address, which is null from now on. Under the lock of the object's shard.
  std::byte* take_device() {
    std::byte* const begin = device.load(std::memory_order_relaxed);
    device.store(nullptr, std::memory_order_relaxed);
    return begin;
  }
  // Null: there are none.
  const Details* details() const { return details_.load(std::memory_order_acquire); }
  // To be changed under the lock of the object's shard.
  Details& make_details();
  // Calls `use` for those of its events that have yet to end. Under the lock of its shard.
  template <typename Use> void for_pending(const Use& use) const;
  // Rows without a count of their own count it, as no other row does.
  bool is_apart() const { return details() && details()->apart; }
  // Kernels use the host's memory itself.
  bool is_in_place() const { return own_value && device == host.address(); }
  bool is_named() const { return details() && !details()->name.empty(); }
  std::string name() const { return details() ? details()->name : std::string(); }
  // To be looked through under the lock of the object's shard.
  const AttachedPointers& pointers() const {
    static const AttachedPointers none;
    return details() ? details()->pointers : none;
  }

  const HostRange host;
  // Null: the device had no memory for it, host only. The call that creates the object writes it without a lock; others
  // may read null until the object is published.
  std::atomic<std::byte*> device;
  std::int64_t references = 0;
  std::uintptr_t base; // what the program's pointer to the object was: host.begin or before it
  // It lives while it is in the table, and while calls have pinned it under its shard's lock: a launch counts there
  // with the lock that it needs anyhow.
  std::uint32_t pins = 0;
  State state = State::kReady;
  const std::uint8_t shard;  // of `host`
  bool awaited = false;      // a call waits until it is ready or has left
  bool infinite = false;     // never released by counting
  bool own_value = false;    // the device's copy holds something else than the host's: nothing is copied
  bool unusable = false;     // no region that names it can run on the device
  bool host_current = false; // a region fell back: the host's copy is the newer one
  bool written = false;      // the host's data has been copied to the device
  bool enclosing = false;    // memory around the mapped parts of a struct; the holes hold nothing
  bool queued = false;       // its details have events, which may be over

  const DeviceMemory* owner;          // null: somebody else's memory (globals, omp_target_associate_ptr)
  std::int64_t holds = 0;             // references that only their own construct gives up
  std::uint64_t born = 0;             // the device's activity when it was created
  const void* creator = nullptr;      // while kCreating: the call that fills it
  std::ptrdiff_t padding = 0;         // device memory before `device`, so that members are aligned as on the host
  std::unique_ptr<Diverged> diverged; // while host_current, if there are two sides; under the lock of DivergedCopies

private:
  std::atomic<Details*> details_{nullptr};
};
static_assert(sizeof(Mapping) == 128);

template <typename Use> void Mapping::for_pending(const Use& use) const {
  const auto use_pending = [&](const EventPtr& event) {
    if (event && !event->is_done())
      use(event);
  };
  if (!queued)
    return;
  use_pending(details()->written);
  for (const EventPtr& user : details()->users)
    use_pending(user);
}

// Returns how messages name it: the address and the size; with "the object at" or its name.
std::string describe(HostRange range);
std::string describe(const Mapping& mapping);

enum class Overlap { kNone, kWhole, kPartial };

struct Lookup {
  Overlap overlap = Overlap::kNone;
  Mapping* mapping = nullptr; // for kPartial: one of those it overlaps
};

class MappingTable {
public:
  MappingTable() = default;
  ~MappingTable();
  MappingTable(const MappingTable&) = delete;
  MappingTable& operator=(const MappingTable&) = delete;

  // Returns how an object of at least one byte lies to what is mapped.
  Lookup find(HostRange wanted) const;
  // The mapping that a section of no bytes at `address` belongs to: the one that holds the byte, or
  // the next one if the address is a base pointer of it. Null: neither.
  Mapping* find_section(const void* address) const;
  // Every mapping that shares a byte with `range`, by address.
  std::vector<Mapping*> overlapping(HostRange range) const;
  // The first of these for which is_sought(mapping) returns true, or null.
  template <typename Sought> Mapping* find_overlapping(HostRange range, const Sought& is_sought) const;
  // Takes it. False: something overlaps it, and nothing has been done.
  bool insert(std::unique_ptr<Mapping>& mapping);
  // Gives it back.
  std::unique_ptr<Mapping> erase(Mapping& mapping);

private:
  // The end is here so that a search looks at no mapping.
  struct Entry {
    std::uintptr_t begin, end;
    Mapping* mapping;
  };
  // Its entries have room on both sides, because programs unmap from the front as well.
  struct Block {
    static constexpr std::size_t kMost = 128;
    std::uintptr_t key = 0; // no entry begins before; the first block's is 0
    Block* previous = nullptr;
    Block* next = nullptr;
    std::size_t first = 0, last = 0; // one past the last
    std::array<Entry, kMost> entries;

    bool is_full() const { return last - first == kMost; }
    std::span<const Entry> all() const { return std::span(entries).subspan(first, last - first); }
    std::size_t past(std::uintptr_t address) const;
    void insert(std::size_t at, const Entry& entry);
    void erase(std::size_t at);
  };
  // The entries on both sides of an address, and where one that begins there belongs.
  struct Place {
    Block* block = nullptr;
    std::size_t index = 0;
    const Entry* at_or_before = nullptr; // null: there is none
    const Entry* after = nullptr;
  };
  Block& block_of(std::uintptr_t address) const;
  Place place_of(std::uintptr_t address) const;
  Block& add_block(Block& before, std::uintptr_t key);
  Block& room_after(Block& block);
  void make_room_at_end(Place& place);
  void split(Place& place);
  void erase_block(Block& block);

  std::map<std::uintptr_t, std::unique_ptr<Block>> blocks_; // by key; the first stays, even if empty
  mutable Block* last_used_ = nullptr;
};

template <typename Sought> Mapping* MappingTable::find_overlapping(HostRange range, const Sought& is_sought) const {
  const Place place = place_of(range.begin);
  if (const Entry* const at = place.at_or_before; at && range.begin < at->end && is_sought(at->mapping))
    return at->mapping;
  std::size_t index = place.index;
  for (const Block* block = place.block; block; block = block->next, index = block ? block->first : 0)
    for (; index < block->last; ++index) {
      const Entry& entry = block->entries[index];
      if (entry.begin >= range.end)
        return nullptr;
      if (is_sought(entry.mapping))
        return entry.mapping;
    }
  return nullptr;
}

} // namespace omptool
