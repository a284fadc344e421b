// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_MPI_HOLD=N: each side keeps every message of records back for N milliseconds, as a network would. So round
// trips can be counted on one machine. For measurements alone.
#pragma once

#include "wire.h"

#include <chrono>
#include <deque>
#include <utility>

namespace omptool::mpi {

class Hold {
public:
  explicit Hold(std::chrono::milliseconds time) : time_(time) {}
  bool is_on() const { return time_ != Clock::duration::zero(); }
  bool is_empty() const { return kept_.empty(); }

  void keep(std::size_t rank, Buffer records) { kept_.push_back({Clock::now() + time_, rank, std::move(records)}); }
  // Calls send(rank, records) for each whose time has come.
  template <typename Send> void release(const Send& send) {
    for (const Clock::time_point now = Clock::now(); !kept_.empty() && kept_.front().due <= now; kept_.pop_front())
      send(kept_.front().rank, std::move(kept_.front().records));
  }

private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    Clock::time_point due;
    std::size_t rank;
    Buffer records;
  };

  const Clock::duration time_;
  std::deque<Kept> kept_;
};

} // namespace omptool::mpi
