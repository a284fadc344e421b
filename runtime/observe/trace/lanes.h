// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses where a viewer draws an event: constructs on the host's lanes, operations on those of their device. Each
// thread has a lane for its synchronous operations. Spans that continue after their call get as many lanes as are
// needed so that none overlap.
#pragma once

#include "trace/record.h"

#include <map>
#include <set>

namespace omptool::trace {

struct Lane {
  int process = 1; // 1: the host; from 2 on the devices
  std::uint64_t number = 0;
  bool is_new = false;

  static constexpr std::uint64_t kFirstQueue = 1000;
  std::string name() const {
    if (number < kFirstQueue)
      return "thread " + std::to_string(number);
    return (process == 1 ? "asynchronous " : "queue ") + std::to_string(number - kFirstQueue + 1);
  }
};

class Lanes {
public:
  Lane of(const Record& record) {
    const bool is_wait = record.kind == Kind::kWait; // a host thread waits
    const bool is_operation = record.kind >= Kind::kAllocate && record.kind <= Kind::kLoad && record.device >= 0;
    Lane lane{is_operation && !is_wait ? record.device + 2 : 1, record.thread, false};
    if (record.queue() != 0 && !is_wait)
      lane.number = free_lane(lane.process, record);
    const auto key = std::make_pair(lane.process, lane.number);
    lane.is_new = key != last_ && known_.insert(key).second;
    last_ = key;
    return lane;
  }

private:
  // Free lane: the first of these lanes whose last span has ended when the record begins.
  std::uint64_t free_lane(int process, const Record& record) {
    std::vector<std::uint64_t>& ends = ends_[process];
    std::size_t i = 0;
    while (i < ends.size() && ends[i] > record.began)
      ++i;
    if (i == ends.size())
      ends.push_back(0);
    ends[i] = record.ended;
    return Lane::kFirstQueue + i;
  }

  std::set<std::pair<int, std::uint64_t>> known_;
  std::pair<int, std::uint64_t> last_;             // of no lane yet: process 0
  std::map<int, std::vector<std::uint64_t>> ends_; // of the last span on each lane, by process
};

} // namespace omptool::trace
