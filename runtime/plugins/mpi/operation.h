// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation that a worker has been asked for, and its event.
#pragma once

#include "common/events.h"
#include "transport/link.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace omptool::mpi {

struct Pending;
using PendingPtr = std::shared_ptr<Pending>;

// Operations of a stream run one after another on one worker, so that each comes behind the last.
struct Stream {
  std::uint64_t last = 0; // the number of the last one; 0: it has none
};

// Pending operation, guarded by the lock of the events.
struct Pending : plugin::Event {
  std::size_t worker = 0; // its rank
  std::uint64_t id = 0;   // among the worker's
  Kind kind = Kind::kJoin;
  std::shared_ptr<Stream> stream; // null: of a call that waits

  std::span<std::byte> into;     // a retrieve's memory of the host
  View held_back;                // a submit's bytes that are not on their way yet
  std::vector<Request> requests; // bytes that are
  std::int32_t tag = 0;          // of those; 0: there are none

  PendingPtr other; // of a copy from another worker: that worker's part
  bool is_answered = false;
  std::int32_t result = 0;
  std::int64_t sent = 0; // not later than that; by this process's clock, as the following
  Span ran;              // end 0: not known
  Buffer reply;          // of a call that waits

  bool is_copy_from_device() const { return kind == Kind::kRetrieve; }
};

// Memory of the host that an operation uses.
struct HostSide {
  View from = {};                 // of a submit
  std::span<std::byte> into = {}; // of a retrieve
};

} // namespace omptool::mpi
