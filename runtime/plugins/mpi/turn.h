// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "answers.h"
#include "losses.h"

#include <mutex>

namespace omptool::mpi {

// The turn to call MPI: one thread at a time has it, and gives up the lock of the events meanwhile, so that others hand
// over more. Threads that come meanwhile leave MPI to that thread.
class Turn {
public:
  Turn(Peers& peers, Answers& answers, Losses& losses) : peers_(peers), answers_(answers), losses_(losses) {}

  // Starts the thread that watches the workers where nobody waits.
  void start_watch();
  // Sends what is gathered, and takes what has arrived, if no other thread does. Called with the lock held, which is
  // given up in between. Returns whether something is pending.
  bool advance(plugin::Events::Lock& lock);
  // Called with the lock held, which is given up in between.
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
  std::mutex turn_; // held by the thread that calls MPI; nobody waits for it
  Link::Counts counts_;
  bool is_over_ = false;    // nothing comes from workers any more
  bool is_all_sent_ = true; // of what has been gathered
};

} // namespace omptool::mpi
