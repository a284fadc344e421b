// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "peers.h"

#include <string>
#include <string_view>
#include <utility>

namespace omptool::mpi {

// Knows which workers are lost: those that MPI reports an error about, that send what they must not, or that are silent
// too long. Used under the lock of the events.
class Losses {
public:
  explicit Losses(Peers& peers) : peers_(peers), end_(peers.session.reason) {}

  // Loses the workers that the link reports faults of.
  void handle_faults();
  void check_pulses();
  void ping(std::size_t worker);
  // Returns why the worker is asked nothing any more, or "".
  const std::string& why_not(std::size_t worker) const;
  // Ends all requests to workers, for this reason.
  void end(std::string reason) { end_ = std::move(reason); }
  bool has_ended() const { return !end_.empty(); }
  std::string_view first_loss() const; // the worker and the reason; "": there is none
  bool can_finalize() const; // MPI_Finalize may wait for a lost worker, also for one that MPI reports as failed

private:
  std::string name_of(std::size_t worker) const;
  void lose(std::size_t worker, const std::string& how);

  Peers& peers_;
  Pulse::Clock::time_point next_look_ = {};
  std::string end_; // "": workers are asked
};

} // namespace omptool::mpi
