// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers that are lost, and the end of those that are not.
#include "backoff.h"
#include "queue.h"

#include <algorithm>
#include <thread>

namespace omptool::mpi {

std::string Queue::name_of(std::size_t worker) const {
  const Greeting& greeting = session_.crew.greetings[worker - 1];
  return "rank " + std::to_string(greeting.workers[worker - 1]) + " on " + greeting.node;
}

const std::string& Queue::why_not(std::size_t worker) const {
  return lost_.empty() ? peers_[worker].lost : lost_;
}

// ---- signs of life ----

// Asks a worker that says nothing for a sign of life, in the middle of a period. The program says with that that it
// lives, too: so a worker hears of it however long it computes alone.
void Queue::look_after_workers() {
  if (session_.heartbeat == session_.heartbeat.zero())
    return;
  const Pulse::Clock::time_point now = Pulse::Clock::now();
  if (now < next_look_)
    return;
  next_look_ = now + session_.heartbeat / Pulse::kGrain;
  for (std::size_t worker = 1; worker < peers_.size(); ++worker) {
    if (!peers_[worker].lost.empty())
      continue;
    switch (peers_[worker].pulse.look(now)) {
    case Pulse::Verdict::kWell:
      break;
    case Pulse::Verdict::kAsk:
      ping(worker);
      link_->post();
      break;
    case Pulse::Verdict::kLost:
      lose(worker, "does not answer since " + std::to_string(session_.heartbeat.count()) + " s");
    }
  }
}

void Queue::ping(std::size_t worker) {
  write(link_->records_for(worker), Operation{Kind::kPing});
}

// On a thread of its own: looks also where nobody waits.
void Queue::keep_watch() {
  constexpr int kLooks = 16; // in a period
  for (;;) {
    std::this_thread::sleep_for(Pulse::Clock::duration(session_.heartbeat) / kLooks);
    plugin::Events::Lock lock = events_.lock();
    if (is_over_)
      return;
    progress(lock);
  }
}

// ---- losses ----

void Queue::heed_faults() {
  for (const Fault& fault : link_->faults())
    if (fault.rank != kProgram)
      lose(static_cast<std::size_t>(fault.rank), "is lost: " + fault.why);
}

// Ends all that is pending there. Tells the other workers, which may wait for bytes of its, and the worker itself,
// should it come back.
void Queue::lose(std::size_t worker, const std::string& how) {
  Peer& peer = peers_[worker];
  if (!peer.lost.empty())
    return;
  peer.lost = name_of(worker) + " " + how;
  for (std::size_t other = 1; other < peers_.size(); ++other)
    if (other == worker || peers_[other].lost.empty())
      write(link_->records_for(other), Operation{.kind = Kind::kForget, .value = static_cast<std::int32_t>(worker)});
  link_->post();
  link_->drop(worker);
  const auto is_of_worker = [&](const PendingPtr& pending) { return pending->worker == worker; };
  std::erase_if(moving_, is_of_worker);
  retrieving_.remove_of(worker);
  for (const PendingPtr& pending : peer.pending.take_all()) {
    --pending_;
    link_->give_up(pending->requests);
    pending->failure = peer.lost;
    events_.end(*pending, true);
  }
}

std::string_view Queue::first_loss() const {
  const auto lost = std::find_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return !peer.lost.empty(); });
  return lost == peers_.end() ? std::string_view() : lost->lost;
}

bool Queue::can_finalize() const {
  return link_ && first_loss().empty();
}

// ---- the end ----

// A worker that hangs would hold MPI_Finalize up: so each has to give a last sign.
void Queue::dismiss() {
  plugin::Events::Lock lock = events_.lock();
  const auto progress_until = [&](const auto& is_so) {
    for (Backoff backoff; progress(lock), !is_so();) {
      lock.unlock();
      backoff.pause();
      lock.lock();
    }
  };
  progress_until([&] { return pending_ == 0; });
  if (!lost_.empty())
    return;
  lost_ = "the program has ended its use of MPI";
  for (std::size_t worker = 1; worker < peers_.size(); ++worker) {
    peers_[worker].is_heard = false;
    ping(worker);
  }
  const auto is_silent = [](const Peer& peer) { return !peer.is_heard && peer.lost.empty(); };
  progress_until([&] { return std::none_of(peers_.begin() + 1, peers_.end(), is_silent); });
  for (std::size_t worker = 1; worker < peers_.size(); ++worker)
    write(link_->records_for(worker),
          Operation{.kind = Kind::kGoodbye, .id = ++peers_[worker].last_id, .value = can_finalize() ? 0 : 1});
  progress_until([&] { return is_all_sent_ && !link_->has_records(); });
  is_over_ = true;
  lock.unlock();
  const std::lock_guard turn(turn_); // another thread may still have it
}

} // namespace omptool::mpi
