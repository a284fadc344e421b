// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's argument arrays as rows of the core: map-type bits, user-defined mappers, sections that are
// not contiguous.
#pragma once

#include "abi/exports.h"
#include "data/table/row.h"
#include "host_range.h"
#include "observe/events/sink.h"
#include "process/read_only.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace omptool::llvm {

// Type bits of a map type (abi-facts.md, 7.5).
enum Type : std::int64_t {
  kTypeTo = 0x1,
  kTypeFrom = 0x2,
  kTypeAlways = 0x4,
  kTypeDelete = 0x8,
  kTypePointerAndObject = 0x10,
  kTypeParameter = 0x20,
  kTypeReturn = 0x40,
  kTypePrivate = 0x80,
  kTypeLiteral = 0x100,
  kTypeImplicit = 0x200,
  kTypeClose = 0x400,
  kTypePresent = 0x1000,
  kTypeHold = 0x2000,
  kTypeAttach = 0x4000,
  kTypeNullify = 0x8000,
  kTypeSaved = 0x10000,
  kTypeNonContiguous = 0x100000000000,
};
inline constexpr std::int64_t kTypeMemberOf = static_cast<std::int64_t>(0xffffULL << 48);
// Known types. Clang 13 and before wrote 0x800 for close.
inline constexpr std::int64_t kKnownTypes = 0xffff | kTypeNonContiguous | kTypeMemberOf;

// Returns the bits that have a meaning in this type. LLVM 24 marks firstprivate values of a task graph whose bytes the
// runtime copies when it records the graph. This runtime records none, and copies the bytes at each launch.
constexpr std::int64_t known_types(std::int64_t type) {
  const bool is_value = (type & (kTypePrivate | kTypeLiteral)) != 0;
  return is_value ? kKnownTypes | kTypeSaved : kKnownTypes;
}

// The arrays of one call. `names` and `mappers` may be null, and so may each of their elements.
struct Arrays {
  std::uint32_t count = 0;
  void** base = nullptr;
  void** begin = nullptr;
  std::int64_t* size = nullptr;
  std::int64_t* type = nullptr;
  void** names = nullptr;
  void** mappers = nullptr;
};

// Rows of a call. Most calls have few, which fit into this object.
class RowList {
public:
  RowList() : rows_(reinterpret_cast<Row*>(room_)) {}
  RowList(const RowList&) = delete;
  RowList& operator=(const RowList&) = delete;
  void add(const Row& row) {
    reserve(1);
    ::new (rows_ + size_++) Row(row);
  }
  // Makes room for `more` rows.
  void reserve(std::size_t more) {
    if (more > capacity_ - size_) [[unlikely]]
      grow(more);
  }
  // Returns the place behind the last row, which reserve() has made; count() makes it part of the list.
  Row& next() { return rows_[size_]; }
  void count() { ++size_; }
  operator Rows() const { return {rows_, size_}; }

private:
  static constexpr std::size_t kInline = 32;
  [[gnu::noinline, gnu::cold]] void grow(std::size_t more) {
    const std::size_t wanted = std::max(2 * capacity_, size_ + more);
    std::unique_ptr<Row[]> larger(new Row[wanted]);
    std::copy_n(rows_, size_, larger.get());
    large_ = std::move(larger);
    rows_ = large_.get();
    capacity_ = wanted;
  }
  alignas(Row) std::byte room_[kInline * sizeof(Row)];
  Row* rows_;
  std::size_t size_ = 0;
  std::size_t capacity_ = kInline;
  std::unique_ptr<Row[]> large_;
};

// Flags of a mapped kernel argument. The argument is the host's address if the object is absent (decision 29).
inline constexpr std::uint32_t kMappedArgument = kArgument | kHostIfAbsent;

// Row fault of the arrays, or "". Unknown map-type bits are a newer compiler's: then all rows are there, as the other
// bits describe them.
struct RowFault {
  std::string text;
  bool is_of_compiler = false;
  explicit operator bool() const { return !text.empty(); }
};

// Component: one element of the arrays, or one that a user-defined mapper pushes for an array element or section.
struct Component {
  void* base;
  void* begin;
  std::int64_t size;
  std::int64_t type;
  void* name = nullptr;
};

// Returns the flags of an object that is mapped because a region uses it. Constants are not copied back: no clause asks
// for it.
inline std::uint32_t implicit_flags(std::uint32_t flags, std::uintptr_t begin) {
  const bool is_constant = (flags & kFrom) && read_only_memory.hold(begin);
  return (is_constant ? flags & ~static_cast<std::uint32_t>(kFrom) : flags) | kImplicit;
}

// Writes the row of an element as most are: a value, or a copied object that needs no look at another element. Returns
// false for every other element.
inline bool make_plain_row(const Component& element, Action action, Row& row) {
  constexpr std::int64_t kPlain = kTypeTo | kTypeFrom | kTypeParameter | kTypeLiteral | kTypeImplicit;
  const std::uint32_t argument = action == Action::kRegion ? kMappedArgument : 0U;
  const std::int64_t type = element.type;
  // An element that is only allocated may be a struct, and its members follow.
  if ((type & ~kPlain) || !(type & (kTypeTo | kTypeFrom | kTypeLiteral)) || !(type & kTypeParameter) != !argument)
    return false;
  if (type & kTypeLiteral) {
    row = {element.base, element.begin, 0, kValue | kArgument, nullptr};
    return argument != 0;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(element.begin);
  if (!begin || element.size <= 0 || begin + static_cast<std::uintptr_t>(element.size) < begin)
    return false;
  std::uint32_t flags = kSection | kCounts | argument;
  flags |= type & kTypeTo ? kTo : 0U;
  flags |= type & kTypeFrom ? kFrom : 0U;
  if (type & kTypeImplicit)
    flags = implicit_flags(flags, begin);
  row = {element.base, element.begin, element.size, flags, nullptr};
  return true;
}

// Appends the rows of an element that is not plain, and makes room for those behind it.
RowFault add_other_rows(const Arrays& arrays, std::size_t index, Action action, RowList& rows, const void* caller,
                        std::int64_t& unknown_bits);
[[gnu::cold]] RowFault fault_of_arrays(const Arrays& arrays);
[[gnu::cold]] RowFault fault_of_bits(std::int64_t unknown, const void* caller);

// Appends the rows of the arrays. `caller` is an address in the program's code.
inline RowFault add_rows(const Arrays& arrays, Action action, RowList& rows, const void* caller) {
  if (arrays.count > INT32_MAX || // the callers' type is int
      (arrays.count > 0 && !(arrays.base && arrays.begin && arrays.size && arrays.type))) [[unlikely]]
    return fault_of_arrays(arrays);
  const bool is_reported = observe::may_be_heard();
  std::int64_t unknown_bits = 0;
  rows.reserve(arrays.count);
  for (std::size_t i = 0; i < arrays.count; ++i)
    if (!is_reported && !(arrays.mappers && arrays.mappers[i]) &&
        make_plain_row({arrays.base[i], arrays.begin[i], arrays.size[i], arrays.type[i]}, action, rows.next()))
        [[likely]]
      rows.count();
    else if (RowFault fault = add_other_rows(arrays, i, action, rows, caller, unknown_bits))
      return fault;
  return unknown_bits == 0 ? RowFault() : fault_of_bits(unknown_bits, caller);
}

// The components that a user-defined mapper has pushed.
using Components = std::vector<Component>;

} // namespace omptool::llvm
