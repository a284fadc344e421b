// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the parts of what a user-defined mapper maps that should have room for the pointers beside them that it
// attaches. Clang 24's mappers map the members alone, and no memory for the pointers to the mapped sections; others map
// the whole struct (decision 30).
#pragma once

#include "abi/llvm/rows.h"
#include "host_range.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace omptool::llvm {

class AttachedPlaces {
public:
  AttachedPlaces(const Components& parts, HostRange whole) : whole_(whole) {
    if (std::none_of(parts.begin(), parts.end(), [](const Component& part) { return is_attached(part); }))
      return;
    for (const Component& part : parts)
      if (is_mapped(part))
        sorted_.push_back(HostRange::of(part.begin, part.size));
    std::sort(sorted_.begin(), sorted_.end(), [](HostRange a, HostRange b) { return a.begin < b.begin; });
    std::uintptr_t last = 0;
    for (const HostRange part : sorted_)
      last_ends_.push_back(last = std::max(last, part.end));
    for (const Component& part : parts)
      if (const HostRange pointer = HostRange::of(part.base, sizeof(void*));
          is_attached(part) && whole.contains(pointer) && !sorted_.empty())
        add(pointer);
  }
  // Pointers beside a part: their addresses, in order, for which `part` should have room.
  const std::vector<void*>& beside(const Component& part) const {
    static const std::vector<void*> none;
    if (places_.empty() || !is_mapped(part))
      return none;
    const auto found = places_.find(reinterpret_cast<std::uintptr_t>(part.begin));
    return found == places_.end() ? none : found->second;
  }

private:
  static bool is_attached(const Component& part) { return (part.type & kTypeAttach) != 0; }
  // Tells if a part is mapped, and lies in the whole.
  bool is_mapped(const Component& part) const {
    constexpr std::int64_t kOther =
        kTypePrivate | kTypeLiteral | kTypeAttach | kTypeNonContiguous | kTypePointerAndObject;
    return !(part.type & kOther) && part.size > 0 && whole_.contains(HostRange::of(part.begin, part.size));
  }
  // Adds the pointer to the last part that begins before it, or to the first behind it, unless a part maps the pointer.
  void add(HostRange pointer) {
    const auto from = [&](std::uintptr_t address) {
      return std::lower_bound(sorted_.begin(), sorted_.end(), address,
                              [](HostRange part, std::uintptr_t begin) { return part.begin < begin; });
    };
    const auto behind = from(pointer.begin), past = from(pointer.begin + 1);
    if (past != sorted_.begin() && last_ends_[static_cast<std::size_t>(past - sorted_.begin()) - 1] >= pointer.end)
      return;
    const HostRange owner = behind == sorted_.begin() ? *behind : *std::prev(behind);
    places_[owner.begin].push_back(pointer.address());
  }

  const HostRange whole_;
  std::vector<HostRange> sorted_;                       // the mapped parts by where they begin
  std::vector<std::uintptr_t> last_ends_;               // up to each of them, the greatest end
  std::map<std::uintptr_t, std::vector<void*>> places_; // by where the part begins
};

} // namespace omptool::llvm
