// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects of one device by the host addresses of their memory, in blocks so that neighbours share cache lines. It
// knows nothing of copies or of threads: its user holds a lock, and decides what moves.
#pragma once

#include "data/table/object.h"
#include "host_range.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace omptool {

enum class Overlap { kNone, kWhole, kPartial };

struct Lookup {
  Overlap overlap = Overlap::kNone;
  Object* object = nullptr; // for kPartial: one of those it overlaps
};

class ObjectsByAddress {
public:
  // Returns how an object of at least one byte lies to what is mapped.
  Lookup find(HostRange wanted) const;
  // The object that a section of no bytes at `address` belongs to: the one that holds the byte, or
  // the next one if the address is a base pointer of it. Null: neither.
  Object* find_section(const void* address) const;
  // Every object that shares a byte with `range`, by address.
  std::vector<Object*> overlapping(HostRange range) const;
  // The first of these for which is_sought(object) returns true, or null.
  template <typename Sought> Object* find_overlapping(HostRange range, const Sought& is_sought) const;
  // False: something overlaps it, and nothing has been done.
  bool insert(HostRange host, Object& object);
  void erase(const Object& object);

private:
  // The end is here so that a search looks at no object.
  struct Entry {
    std::uintptr_t begin, end;
    Object* object;
  };
  // Block of entries with room on both sides, because programs unmap from the front as well.
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

template <typename Sought> Object* ObjectsByAddress::find_overlapping(HostRange range, const Sought& is_sought) const {
  const Place place = place_of(range.begin);
  if (const Entry* const at = place.at_or_before; at && range.begin < at->end && is_sought(at->object))
    return at->object;
  std::size_t index = place.index;
  for (const Block* block = place.block; block; block = block->next, index = block ? block->first : 0)
    for (; index < block->last; ++index) {
      const Entry& entry = block->entries[index];
      if (entry.begin >= range.end)
        return nullptr;
      if (is_sought(entry.object))
        return entry.object;
    }
  return nullptr;
}

} // namespace omptool
