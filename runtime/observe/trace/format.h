// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two forms of a trace's file.
#pragma once

#include "trace/lanes.h"
#include "trace/record.h"

#include <memory>
#include <string>

namespace omptool::trace {

class Format {
public:
  virtual ~Format() = default;
  // Appends what the file begins with, an event, and what it ends with. A file that lacks its end can be read.
  virtual void begin(std::string& out) = 0;
  virtual void add(const Record& record, std::string& out) = 0;
  virtual void end(std::string& out) = 0;
};

// Format of Chrome's trace events, in JSON. Times count from `start`.
std::unique_ptr<Format> json_format(Names& names, std::uint64_t start);
// Perfetto's protobuf.
std::unique_ptr<Format> perfetto_format(Names& names, std::uint64_t start);

} // namespace omptool::trace
