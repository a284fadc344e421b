// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows if host addresses are addresses of the device.
#pragma once

#include "data/table/row.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace omptool {

class Sharing {
public:
  // Of kRequired and kOnly, constructs map global variables, associated pointers and what is to be close alone. kOnly:
  // the device has no other memory, and nothing can be close.
  enum class Mode : std::uint8_t { kNone, kRequired, kOnly };
  void raise_to(Mode mode) { mode_.store(std::max(this->mode(), mode), std::memory_order_relaxed); }
  bool any() const { return mode() != Mode::kNone; }
  bool is_only() const { return mode() == Mode::kOnly; }
  // Returns whether the device needs a copy of what the row maps.
  bool needs_copy(const Row& row) const {
    return mode() == Mode::kNone || (mode() == Mode::kRequired && row.has(kClose));
  }

private:
  Mode mode() const { return mode_.load(std::memory_order_relaxed); }
  std::atomic<Mode> mode_{Mode::kNone};
};

} // namespace omptool
