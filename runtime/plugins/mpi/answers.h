// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "peers.h"

namespace omptool::mpi {

// Reads the messages of workers, and ends the operations that they answer. Used under the lock of the events.
class Answers {
public:
  explicit Answers(Peers& peers) : peers_(peers) {}

  void take(int worker, View message);
  void end_moved();

private:
  void take(Peer& peer, const Answer& answer, std::int64_t arrived);
  void finish(Pending& pending);

  Peers& peers_;
};

} // namespace omptool::mpi
