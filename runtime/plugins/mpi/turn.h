// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "answers.h"
#include "losses.h"

#include <mutex>

namespace omptool::mpi {

// Turn to call MPI: one thread at a time has it, and releases the lock of the events meanwhile, so that others can
// append operations. Those threads leave MPI to it.
class Turn {
public:
  Turn(Peers& peers, Answers& answers, Losses& losses) : peers_(peers), answers_(answers), losses_(losses) {}

  // Starts the thread that watches the workers while no thread waits.
  void start_watch();
  // Sends gathered messages, and receives those that have arrived, unless another thread does. Called with the lock
  // held, which it releases meanwhile. Returns whether operations are pending.
  bool advance(plugin::Events::Lock& lock);
  // Waits for the event. Called with the lock held, which it releases meanwhile.
  void await(const plugin::Event& event, plugin::Events::Lock& lock);
  // Called with the lock held.
  Link::Counts counts() const { return counts_; }
  bool is_all_sent() const { return is_all_sent_; }
  // Ends the use of MPI. Gives up the lock, and returns when no thread has the turn.
  void end(plugin::Events::Lock& lock);

private:
  void keep_watch();

  Peers& peers_;
  Answers& answers_;
  Losses& losses_;
  std::mutex turn_; // held by the thread that calls MPI; never waited for
  Link::Counts counts_;
  bool is_over_ = false;    // nothing comes from workers any more
  bool is_all_sent_ = true; // all gathered messages have been sent
};

} // namespace omptool::mpi
