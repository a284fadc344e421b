// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serves a program: receives operations, and sends answers. All calls of MPI are made here, on one thread.
//
// Answers are gathered: an answer without a follower leaves at once, with all that are there; the others wait for it a
// while.
//
// Kernels run on other threads, so that a ping is answered at any time. A program that has not pinged for three periods
// is lost, and its worker ends.
#pragma once

#include "graph.h"
#include "mpi/transport/link.h"
#include "mpi/transport/pulse.h"

#include <chrono>
#include <vector>

namespace omptool::worker {

class Server {
public:
  Server(mpi::Mpi& mpi, const mpi::Met& met, Backend& backend);

  // Serves until the program says goodbye. Returns false if a worker is lost, because MPI_Finalize would wait for it.
  // Throws std::exception if the program is lost, or sent a malformed message; the program has then been informed.
  bool serve();

private:
  using Clock = std::chrono::steady_clock;

  // Transfer of a copy whose bytes are on their way.
  struct Transfer {
    TaskPtr task;
    int with; // the other's rank
    std::vector<mpi::Request> requests;
  };

  bool step(std::chrono::nanoseconds time);
  bool take_messages();
  void check(const Operation& operation) const;
  void heed(const Operation& sign);
  void look_after_program();
  void heed_faults();
  void forget(int rank, const std::string& why);
  bool is_forgotten(const TaskPtr& task, int rank);
  void tell_end(const std::string& why);
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
  bool can_finalize_ = true;
  const int rank_;                     // of this worker
  std::vector<std::string> forgotten_; // by rank: why nothing comes from it or goes to it; "": it may
  std::vector<Transfer> abandoned_;    // MPI may still use their memory
  mpi::Pulse program_;
};

} // namespace omptool::worker
