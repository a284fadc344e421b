// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of a trace. Used by one thread at a time.
#pragma once

#include "file.h"
#include "trace/format.h"

#include <memory>
#include <span>
#include <string>

namespace omptool::trace {

// Wanted trace, from the environment.
struct Wanted {
  std::string path; // with %p for the number of the process, %r for its rank
  bool is_perfetto = false;
  std::uint64_t limit = 0; // bytes
  std::uint64_t least = 0; // nanoseconds; shorter spans are left out
};

class Writer {
public:
  // Creates the file exclusively. If that fails, prints one line with the reason, and writes nothing.
  Writer(const Wanted& wanted, Names& names, std::uint64_t start);

  void write(std::span<const Record> records);
  void finish();
  bool is_open() const { return static_cast<bool>(file_); }

private:
  void put();
  void give_up(const std::string& why);

  File file_{-1};
  std::string path_;
  std::uint64_t written_ = 0;
  const std::uint64_t limit_;
  const std::unique_ptr<Format> format_;
  std::string text_;
};

} // namespace omptool::trace
