// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the lines that a process prints. Two lines that differ only in addresses and in numbers of bytes are the same
// line about two objects. No lock: a line may come from any thread, at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace omptool {

class RepeatedLines {
public:
  static constexpr std::size_t kMost = 256; // further lines are not counted, and each of them is printed

  // Counts the line. Returns false if the process has printed it before.
  bool is_new(std::string_view line) noexcept;

  // Calls print(line, repetitions) for each line that came again, and forgets the repetitions.
  template <typename Print> void take(const Print& print) noexcept {
    for (Line& line : lines_) {
      const char* const text = line.text.load(std::memory_order_acquire);
      const std::uint64_t repetitions = text ? line.repetitions.exchange(0, std::memory_order_relaxed) : 0;
      if (repetitions != 0)
        print(text, repetitions);
    }
  }

private:
  struct Line {
    std::atomic<std::uint64_t> hash{0}; // 0: the place is free
    std::atomic<std::uint64_t> repetitions{0};
    std::atomic<const char*> text{nullptr}; // never freed: threads go on while the process exits
  };
  std::array<Line, kMost> lines_;
};

} // namespace omptool
