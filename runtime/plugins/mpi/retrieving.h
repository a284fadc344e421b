// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pending copies from devices, by the host memory that they write. A reader of such memory waits for them.
#pragma once

#include "operation.h"

#include <algorithm>
#include <map>

namespace omptool::mpi {

class Retrieving {
public:
  void add(const PendingPtr& copy) {
    longest_ = std::max(copies_.empty() ? 0 : longest_, copy->into.size());
    copies_.emplace(copy->into.data(), copy);
  }
  void remove(const Pending& copy) {
    const auto [first, last] = copies_.equal_range(copy.into.data());
    if (const auto found = std::find_if(first, last, [&](const auto& one) { return one.second.get() == &copy; });
        found != last)
      copies_.erase(found);
  }
  void remove_of(std::size_t worker) {
    std::erase_if(copies_, [&](const auto& one) { return one.second->worker == worker; });
  }

  // Tells if a copy that was asked for before `reader` has yet to write some of the bytes. A later one may wait for it.
  bool is_to_write(View bytes, const Pending& reader) const {
    if (bytes.empty())
      return false;
    const std::byte *const begin = bytes.data(), *const end = begin + bytes.size();
    const auto last = copies_.lower_bound(end);
    // Distance to the first copy that can reach the bytes.
    const auto distance = std::min(longest_, reinterpret_cast<std::uintptr_t>(begin));
    return std::any_of(copies_.lower_bound(begin - distance), last, [&](const auto& one) {
      return one.second->number < reader.number && begin < one.first + one.second->into.size();
    });
  }

private:
  std::multimap<const std::byte*, PendingPtr> copies_; // by the beginning of their memory
  std::size_t longest_ = 0;                            // of those since there was none
};

} // namespace omptool::mpi
