// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers the texts of events. A number is smaller than a text, and faster to compare.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace omptool::observe {

// Names: texts that many events have, numbered from 1 on; 0 is no text.
class Names {
public:
  std::uint32_t number(std::string_view text) {
    if (text.empty())
      return 0;
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size() + 1));
    if (is_new)
      texts_.push_back(&at->first);
    return at->second;
  }
  // Returns the text of a number, "" for 0. Valid as long as this object.
  std::string_view text(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    return number == 0 ? std::string_view() : std::string_view(*texts_[number - 1]);
  }

private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

// The names that a thread has used of late, found without a lock: most are at the same place each time.
class NameCache {
public:
  std::uint32_t number(Names& names, std::string_view text) {
    if (text.empty())
      return 0;
    const auto place = reinterpret_cast<std::uintptr_t>(text.data());
    Known& known = known_[(place ^ place >> 6) % known_.size()];
    if (known.text != text) {
      known.number = names.number(text);
      known.text = names.text(known.number);
    }
    return known.number;
  }

private:
  struct Known {
    std::string_view text;
    std::uint32_t number = 0;
  };
  std::array<Known, 64> known_{};
};

} // namespace omptool::observe
