// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "losses.h"

#include <algorithm>

namespace omptool::mpi {

std::string Losses::name_of(std::size_t worker) const {
  const Greeting& greeting = peers_.session.crew.greetings[worker - 1];
  return "rank " + std::to_string(greeting.workers[worker - 1]) + " on " + greeting.node;
}

const std::string& Losses::why_not(std::size_t worker) const {
  return end_.empty() ? peers_.all[worker].lost : end_;
}

// Asks a silent worker for a sign of life, in the middle of a period. The question is a sign of life of the program,
// too, so that a worker receives one however long the program computes alone.
void Losses::check_pulses() {
  if (!peers_.has_heartbeat())
    return;
  const Pulse::Clock::time_point now = Pulse::Clock::now();
  if (now < next_look_)
    return;
  next_look_ = now + peers_.session.heartbeat / Pulse::kGrain;
  for (std::size_t worker = 1; worker < peers_.all.size(); ++worker) {
    if (!peers_.all[worker].lost.empty())
      continue;
    switch (peers_.all[worker].pulse.look(now)) {
    case Pulse::Verdict::kWell:
      break;
    case Pulse::Verdict::kAsk:
      ping(worker);
      peers_.link->post();
      break;
    case Pulse::Verdict::kLost:
      lose(worker, "does not answer since " + std::to_string(peers_.session.heartbeat.count()) + " s");
    }
  }
}

void Losses::ping(std::size_t worker) {
  write(peers_.link->records_for(worker), Operation{Kind::kPing});
}

void Losses::handle_faults() {
  for (const Fault& fault : peers_.link->faults())
    if (fault.rank != kProgram)
      lose(static_cast<std::size_t>(fault.rank), "is lost: " + fault.why);
}

// Ends the worker's pending operations. Tells the other workers, which may wait for its bytes, and the worker itself,
// should it come back.
void Losses::lose(std::size_t worker, const std::string& how) {
  Peer& peer = peers_.all[worker];
  if (!peer.lost.empty())
    return;
  peer.lost = name_of(worker) + " " + how;
  for (std::size_t other = 1; other < peers_.all.size(); ++other)
    if (other == worker || peers_.all[other].lost.empty())
      write(peers_.link->records_for(other),
            Operation{.kind = Kind::kForget, .value = static_cast<std::int32_t>(worker)});
  peers_.link->post();
  peers_.link->drop(worker);
  const auto is_of_worker = [&](const PendingPtr& pending) { return pending->worker == worker; };
  std::erase_if(peers_.moving, is_of_worker);
  peers_.retrieving.remove_of(worker);
  for (const PendingPtr& pending : peer.pending.take_all()) {
    --peers_.pending;
    peers_.link->cancel(pending->requests);
    pending->failure = peer.lost;
    peers_.events.end(*pending, true);
  }
}

std::string_view Losses::first_loss() const {
  const auto lost =
      std::find_if(peers_.all.begin(), peers_.all.end(), [](const Peer& peer) { return !peer.lost.empty(); });
  return lost == peers_.all.end() ? std::string_view() : lost->lost;
}

bool Losses::can_finalize() const {
  return peers_.link && first_loss().empty();
}

} // namespace omptool::mpi
