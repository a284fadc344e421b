// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Book of the objects on devices, from the events that the checker receives.
#pragma once

#include "host_range.h"

#include <cstdint>
#include <map>
#include <utility>

namespace omptool::check {

// Origin of an object: the name of its variable and the construct's source location, by the numbers of their texts.
struct Origin {
  std::uint32_t variable = 0, source = 0;
  const void* call = nullptr;
  bool operator==(const Origin&) const = default;
};

struct Object {
  HostRange host;
  const void* base; // of the structure or array that it is part of
  Origin origin;
  std::uint64_t regions_before; // of its device
  bool is_of_region;            // which also uses it
  bool is_used = false;
};

class Book {
public:
  Object* find(int device, std::uintptr_t begin) {
    const auto at = objects_.find({device, begin});
    return at == objects_.end() ? nullptr : &at->second;
  }
  // The object that holds the address.
  Object* holder(int device, std::uintptr_t address) {
    auto after = objects_.upper_bound({device, address});
    if (after == objects_.begin())
      return nullptr;
    Object& before = (--after)->second;
    return after->first.first == device && before.host.contains(HostRange{address, address + 1}) ? &before : nullptr;
  }
  // Returns how many objects before it at this place were the same, of the same origin.
  unsigned add(int device, Object object) {
    const auto key = std::make_pair(device, object.host.begin);
    if (past_.size() > kMostPast)
      past_.clear();
    Past& before = past_[key];
    const bool is_again = before.size == object.host.size() && before.origin == object.origin;
    before = {object.host.size(), object.origin, is_again ? before.times + 1 : 0};
    objects_.insert_or_assign(key, std::move(object));
    return past_[key].times;
  }
  void remove(int device, std::uintptr_t begin) { objects_.erase({device, begin}); }

  // Another object that was mapped with the same base.
  const Object* sibling(int device, const Object& of) const {
    for (const auto& [key, one] : objects_)
      if (key.first == device && one.base == of.base && one.host.begin != of.host.begin)
        return &one;
    return nullptr;
  }
  template <typename Visit> void for_each(const Visit& visit) const {
    for (const auto& [key, one] : objects_)
      visit(key.first, one);
  }

private:
  static constexpr std::size_t kMostPast = 1 << 16; // places; programs have few that come again
  struct Past {
    std::int64_t size = -1;
    Origin origin;
    unsigned times = 0; // it came again
  };
  using Key = std::pair<int, std::uintptr_t>; // a device, and where the object begins
  std::map<Key, Object> objects_;
  std::map<Key, Past> past_;
};

} // namespace omptool::check
