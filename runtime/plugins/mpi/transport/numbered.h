// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of a worker that have not ended, by their numbers. These follow one another, so that nothing has to be
// searched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace omptool::mpi {

template <typename T> class Numbered {
public:
  using Ptr = std::shared_ptr<T>;

  bool empty() const { return all_.empty(); }
  std::uint64_t oldest() const { return first_; } // of some
  // Returns null for the number of one that has ended, or that was never added.
  const Ptr& find(std::uint64_t number) const { return has(number) ? all_[index(number)] : kNone; }
  // Adds an item, whose number must be larger than all before.
  void add(std::uint64_t number, Ptr one) {
    if (all_.empty())
      first_ = next_ = number;
    for (; next_ < number; ++next_)
      all_.push_back(nullptr);
    all_.push_back(std::move(one));
    ++next_;
  }
  void remove(std::uint64_t number) {
    if (has(number))
      all_[index(number)] = nullptr;
    for (; !all_.empty() && !all_.front(); ++first_)
      all_.pop_front();
  }
  std::vector<Ptr> take_all() {
    std::vector<Ptr> taken;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(taken), [](const Ptr& one) { return one != nullptr; });
    all_.clear();
    first_ = next_;
    return taken;
  }

private:
  static inline const Ptr kNone;

  bool has(std::uint64_t number) const { return number >= first_ && number < next_; }
  std::size_t index(std::uint64_t number) const { return static_cast<std::size_t>(number - first_); }

  std::uint64_t first_ = 0; // the number of the first
  std::uint64_t next_ = 0;  // that of one behind the last
  std::deque<Ptr> all_;     // null: it has ended
};

} // namespace omptool::mpi
