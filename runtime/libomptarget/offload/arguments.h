// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a launch, in the form in which its kernel takes them. They stay until the kernel has ended.
#pragma once

#include "plugins/passing.h"
#include "process/per_row.h"

#include <cstddef>
#include <cstdint>

namespace omptool {

class Arguments {
public:
  // Of at most `rows`.
  Arguments(Passing how, std::size_t rows)
      : how_(how), words_(rows + 2), addresses_(how == Passing::kArray ? rows + 1 : 0) {}
  void*& add() { return words_[++count_]; }
  // After the last one.
  void complete() {
    void** const first = &words_[1];
    switch (how_) {
    case Passing::kPlain:
    case Passing::kNever:
      pass(first, count_);
      return;
    case Passing::kFirst:
      words_[0] = kNothing;
      pass(first - 1, count_ + 1);
      return;
    case Passing::kLast:
      first[count_] = kNothing;
      pass(first, count_ + 1);
      return;
    case Passing::kArray:
      first[count_] = kNothing;
      for (std::size_t i = 0; i <= count_; ++i)
        addresses_[i] = &first[i];
      array_ = addresses_.data();
      pass(&array_, 1);
    }
  }
  Passing how() const { return how_; }
  // What the plugin is given.
  void** data() const { return passed_; }
  std::int32_t count() const { return passed_count_; }

private:
  static inline void* const kNothing = reinterpret_cast<void*>(~std::uintptr_t{0}); // no environment, as LLVM says it
  void pass(void** words, std::size_t count) {
    passed_ = words;
    passed_count_ = static_cast<std::int32_t>(count);
  }

  const Passing how_;
  PerRow<void*, 18> words_; // one before the arguments, and one behind them
  std::size_t count_ = 0;
  PerRow<void*, 18> addresses_;
  void* array_ = nullptr;
  void** passed_ = nullptr;
  std::int32_t passed_count_ = 0;
};

} // namespace omptool
