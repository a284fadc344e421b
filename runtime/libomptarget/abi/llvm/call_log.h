// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells what one construct did with mapped objects, in LLVM's order: row by row, although the core works in steps that
// each go over all rows.
#pragma once

#include "observe/events.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace omptool::llvm {

class CallLog {
public:
  explicit CallLog(int device) : device_(device) {}

  // Rows up to `count` come from what the program calls `declared`.
  void name_rows(std::size_t count, const char* declared) { names_.resize(std::max(count, names_.size()), declared); }

  void add(observe::RowsSeen seen);
  void add(const observe::ObjectCopied& copied);
  // A region is about to run with what has been mapped.
  void launching(const std::string& kernel, bool plugin_tells);
  // Prints what has been noted.
  void flush();

private:
  using Rows = std::vector<observe::RowSeen>;
  struct Line {
    std::int64_t order;
    std::string text;
  };
  const char* declared(std::size_t row) const { return row < names_.size() ? names_[row] : nullptr; }
  std::string name(std::size_t row) const;
  void note(std::uint32_t bit, std::int64_t order, std::string text);
  void note_mapped(std::size_t row, HostRange wanted, const void* base, const observe::ObjectSeen& object, bool fresh,
                   bool counted, std::int64_t later);
  void mapped(bool host_memory);
  void released();
  void updated();
  std::int64_t order_of(const observe::ObjectCopied& copied) const;

  const int device_;
  std::vector<const char*> names_; // by row
  std::vector<Line> lines_;
  std::vector<std::string> arguments_; // of the kernel: where they are
  bool backwards_ = false;             // rows are being released
  Rows rows_;                          // in work
};

} // namespace omptool::llvm
