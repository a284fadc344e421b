// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says where a viewer draws an event: constructs on the lanes of host threads; operations on lanes of their device, one
// for each thread that does them itself, and as many for queues as are needed for none to overlap.
#pragma once

#include "observe/trace/record.h"

#include <map>

namespace omptool::trace {

struct Lane {
  int process = 1; // 1: the host; from 2 on the devices
  std::uint64_t number = 0;
  bool is_new = false;
};

class Lanes {
public:
  static constexpr std::uint64_t kFirstQueue = 1000;

  Lane of(const Record& record) {
    const bool is_operation = record.kind >= Kind::kAllocate && record.kind <= Kind::kLoad &&
                              record.kind != Kind::kWait && record.device >= 0; // a host thread waits
    Lane lane{is_operation ? record.device + 2 : 1, record.thread, false};
    if (is_operation && record.queue != 0)
      lane.number = queue_of(record);
    lane.is_new = known_.emplace(std::pair(lane.process, lane.number), true).second;
    return lane;
  }

private:
  // The first of the device's lanes on which nothing goes on any more when it begins.
  std::uint64_t queue_of(const Record& record) {
    std::vector<std::uint64_t>& ends = ends_[record.device];
    std::size_t i = 0;
    while (i < ends.size() && ends[i] > record.began)
      ++i;
    if (i == ends.size())
      ends.push_back(0);
    ends[i] = record.ended;
    return kFirstQueue + i;
  }

  std::map<std::pair<int, std::uint64_t>, bool> known_;
  std::map<int, std::vector<std::uint64_t>> ends_; // of the last operation on each lane, by device
};

} // namespace omptool::trace
