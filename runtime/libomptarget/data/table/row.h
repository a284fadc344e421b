// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows that a call maps, in the core's own terms. Each ABI translates its argument arrays into rows; the
// core knows no ABI's map-type bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace omptool {

enum RowFlag : std::uint32_t {
  kTo = 1U << 0,       // host to device when the object is created
  kFrom = 1U << 1,     // device to host when the object is released
  kAlways = 1U << 2,   // copy whatever the count
  kDelete = 1U << 3,   // release whatever the count
  kPointer = 1U << 4,  // base is the address of a pointer; begin and size describe its pointee
  kCounts = 1U << 5,   // the row holds a reference to its object; of a kPointer row: to the pointer's cell
  kReturn = 1U << 6,   // store the device address into *base_slot
  kPrivate = 1U << 7,  // a copy for one launch, initialised if kTo; nothing is mapped
  kValue = 1U << 8,    // base itself is the argument; nothing is mapped
  kArgument = 1U << 9, // the row is an argument of the kernel
  // Of LLVM's ABI alone.
  kPresent = 1U << 10,      // that it is not there is the program's mistake
  kHold = 1U << 11,         // counts a holding reference, which kDelete does not touch
  kImplicit = 1U << 12,     // nobody wrote it: what is there of a larger object serves
  kSection = 1U << 13,      // begin is meant even if size is 0: a place in or after an object
  kHostIfAbsent = 1U << 14, // the argument for an absent object is the host address
  kAttach = 1U << 15,       // base is a pointer that begin is its pointee of; nothing is mapped or counted
  kClose = 1U << 16,        // a copy on the device, also where it could use the host's memory
  kReserve = 1U << 17,      // a member that the struct of the row before should have room for; nothing is mapped
  kNullIfAbsent = 1U << 18, // of kReturn: NULL in place of an absent object's host address
};

// Returns the flags that a table of an ABI has for the bits of a map type.
template <typename Type> struct FlagOfBit {
  Type bit;
  std::uint32_t flag;
};
template <typename Type, std::size_t kBits>
constexpr std::uint32_t flags_of(Type type, const FlagOfBit<Type> (&table)[kBits]) {
  std::uint32_t flags = 0;
  for (const FlagOfBit<Type>& row : table)
    flags |= type & row.bit ? row.flag : 0U;
  return flags;
}

struct Row {
  void* base = nullptr;
  void* begin = nullptr;
  std::int64_t size = 0; // bytes; 0: a zero-length section, begin is undefined
  std::uint32_t flags = 0;
  void** base_slot = nullptr; // where kReturn goes
  bool has(std::uint32_t wanted) const { return (flags & wanted) == wanted; }
  bool any(std::uint32_t wanted) const { return (flags & wanted) != 0; }
  bool maps() const { return !any(kPrivate | kValue | kAttach | kReserve); }
};

using Rows = std::span<const Row>;

// A row that needs nothing but its object's count, and a copy when that is new or goes.
inline bool is_plain(const Row& row) {
  constexpr std::uint32_t kPlain = kTo | kFrom | kCounts | kArgument | kSection | kImplicit | kHostIfAbsent | kClose;
  return row.has(kCounts) && !row.any(~kPlain) && row.size > 0;
}

} // namespace omptool
