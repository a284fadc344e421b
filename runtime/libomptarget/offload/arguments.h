// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a launch, in the form in which its kernel takes them. They stay until the kernel has ended.
#pragma once

#include "rtl/passing.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

namespace omptool {

class Arguments {
public:
  // Of at most `rows`.
  Arguments(Passing how, std::size_t rows) : how_(how) {
    const std::size_t wanted = 2 * rows + 3; // as an array: the most
    if (wanted > std::size(room_)) [[unlikely]]
      words_ = (large_ = std::make_unique<void*[]>(wanted)).get();
    first_ = last_ = words_ + 1;
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  void*& add() { return *last_++; }
  // After the last one.
  void complete() {
    if (how_ == Passing::kPlain)
      return;
    void* const nothing = reinterpret_cast<void*>(~std::uintptr_t{0}); // no environment, as LLVM says it
    if (how_ == Passing::kFirst) {
      *--first_ = nothing;
    } else if (how_ == Passing::kLast) {
      *last_++ = nothing;
    } else if (how_ == Passing::kArray) {
      *last_++ = nothing;
      make_array();
    }
  }
  Passing how() const { return how_; }
  // Return what the plugin is given.
  void** data() const { return first_; }
  std::int32_t count() const { return static_cast<std::int32_t>(last_ - first_); }

private:
  // The addresses come behind the words, and theirs is all that is passed.
  void make_array() {
    void** const addresses = last_;
    for (void** word = first_; word != addresses; ++word)
      *last_++ = word;
    words_[0] = addresses;
    first_ = words_;
    last_ = words_ + 1;
  }

  const Passing how_;
  void* room_[34]; // one word before the arguments, and one behind them; as many addresses
  std::unique_ptr<void*[]> large_;
  void** words_ = room_;
  void** first_;
  void** last_; // behind it
};

} // namespace omptool
