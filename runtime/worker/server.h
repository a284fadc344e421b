// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The worker's conversation with its program: operations come, answers go. All calls of MPI are made here, on one
// thread.
//
// Answers are gathered: one that nothing follows leaves at once, with all that are there; others wait for it a while.
#pragma once

#include "graph.h"
#include "mpi/transport/link.h"

#include <chrono>
#include <vector>

namespace omptool::worker {

class Server {
public:
  Server(mpi::Mpi& mpi, mpi::Communicator communicator, Backend& backend)
      : link_(mpi, communicator), backend_(backend), graph_(backend) {}

  // Until the program says goodbye. Throws mpi::Malformed and mpi::Error.
  void serve();

private:
  using Clock = std::chrono::steady_clock;

  // A copy whose bytes are on their way.
  struct Transfer {
    TaskPtr task;
    std::vector<mpi::Request> requests;
  };

  bool step(std::chrono::nanoseconds time);
  bool take_messages();
  void move(const TaskPtr& task);
  void come(const TaskPtr& task);
  void go(const TaskPtr& task);
  bool move_on();
  void arrived(const TaskPtr& task);
  void answer(const Task& task, std::int32_t tag);
  void post();

  mpi::Link link_;
  Backend& backend_;
  Graph graph_;
  std::vector<Transfer> transfers_;
  Clock::time_point oldest_ = {}; // of the answers that wait
  bool is_awaited_ = false;       // one of them is
  bool is_over_ = false;
};

} // namespace omptool::worker
