// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "operation.h"
#include "retrieving.h"
#include "session.h"
#include "transport/clock.h"
#include "transport/numbered.h"
#include "transport/pulse.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace omptool::mpi {

// Peer: a worker with its operations.
struct Peer {
  std::uint64_t last_id = 0;
  Numbered<Pending> pending;
  std::int64_t asked = 0; // when the first of the operations that wait to be sent came
  WorkersClock clock;
  std::int32_t next_tag = kFirstTag;
  std::vector<std::int32_t> free_tags;
  Pulse pulse;
  bool is_heard = false; // since it was last asked whether it lives
  std::string lost;      // why it is asked nothing any more; "" if it is

  bool has_tag() const { return !free_tags.empty() || next_tag <= kLastTag; }
};

// Peers: the workers of a session, and the operations without an answer yet. Guarded by the lock of the events.
struct Peers {
  Peers(plugin::Events& its_events, Session its_session)
      : events(its_events), session(std::move(its_session)), all(session.crew.greetings.size() + 1) {
    if (!session.reason.empty())
      return;
    link = std::make_unique<Link>(*session.mpi, session.crew.communicator);
    for (Peer& peer : all)
      peer.pulse = Pulse(session.heartbeat);
  }
  bool has_heartbeat() const { return session.heartbeat != session.heartbeat.zero(); }

  plugin::Events& events;
  Session session;
  std::unique_ptr<Link> link; // null: there are no workers
  std::vector<Peer> all;      // by rank
  Retrieving retrieving;
  std::vector<PendingPtr> moving; // operations whose bytes travel alone
  std::size_t pending = 0;
};

} // namespace omptool::mpi
