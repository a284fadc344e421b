// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells listeners of objects: in plain values, as they are at the time.
#pragma once

#include "data/mapped_arguments.h"
#include "data/table/row.h"
#include "observe/events/sink.h"

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

namespace omptool {

// Reports the rows of a construct. see() is for under the table's lock, before anything is copied; tell() for behind
// it, as the sink would copy what it gets under a lock.
class RowsReport {
public:
  RowsReport(observe::RowsSeen::Kind kind, int device, bool host_memory)
      : seen_{kind, observe::Within::current(), device, host_memory, std::pmr::vector<observe::RowSeen>(&memory_)} {}
  void see(Rows rows, Bindings& bound);
  void tell() const { observe::report(seen_); }

private:
  static constexpr std::size_t kFew = 8; // rows, whose memory is here
  alignas(observe::RowSeen) std::array<std::byte, kFew * sizeof(observe::RowSeen)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  observe::RowsSeen seen_;
};

// To be called where somebody hears what begins. `cell`: of a pointer that is attached, where it is on the host.
void report_copy(int device, bool to_device, const Mapping& mapping, const void* host, const void* there,
                 std::int64_t size, const void* cell = nullptr);

} // namespace omptool
