// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue of operations for workers. Operations are gathered until a thread waits or queries, or there are many; then all
// operations for a worker leave in one message (turn.h). Threads that wait, or call __tgt_rtl_process_dep, advance all
// operations. Only the signs of life between program and workers need a thread, which looks a few times in a period.
//
// The bytes of a small copy to a device travel with its operation; a large copy's bytes travel in messages of their
// own, from the user's memory. Both leave without waiting for others, and a worker writes them when the operation runs.
// They leave later if a copy from a device has yet to write them.
#pragma once

#include "turn.h"

#include <string_view>

namespace omptool::mpi {

class Queue {
public:
  Queue(plugin::Events& events, Session session) : peers_(events, std::move(session)) { turn_.start_watch(); }

  Session& session() { return peers_.session; }

  // Asks rank `worker` for an operation behind others. Returns 0, or a failure, with last_error set.
  std::int32_t queue(std::size_t worker, Operation&& operation, HostSide host, const plugin::Dependences& order);
  // Calls rank `worker`: sends an operation without an order, and waits for it. Returns the result of the worker's
  // plugin.
  std::int32_t call(std::size_t worker, Operation operation, HostSide host = {}, Buffer* reply = nullptr);

  // Exchanges data between workers: `giving` is the operation for `from`, `taking` the one for `worker`. Waits if there
  // is no order.
  std::int32_t exchange(std::size_t from, Operation giving, std::size_t worker, Operation taking,
                        const plugin::Dependences* order);

  // Called with the lock held; turn.h describes them.
  bool progress(plugin::Events::Lock& lock) { return turn_.advance(lock); }
  void await(const plugin::Event& event, plugin::Events::Lock& lock) { turn_.await(event, lock); }
  Link::Counts counts() const { return turn_.counts(); }

  // Tells the workers that nothing more comes, once all has been done.
  void dismiss();
  std::string_view first_loss() const { return losses_.first_loss(); }
  bool can_finalize() const { return losses_.can_finalize(); }

private:
  std::int32_t order_of(Pending& made, const plugin::Dependences& order);
  std::int32_t finish_call(const PendingPtr& made, plugin::Events::Lock& lock);
  bool await_tag(std::size_t worker, plugin::Events::Lock& lock);
  std::int32_t take_tag(Peer& peer);
  void send(PendingPtr pending, Operation& operation, HostSide host);

  Peers peers_;
  Answers answers_{peers_};
  Losses losses_{peers_};
  Turn turn_{peers_, answers_, losses_};
  std::vector<std::uint64_t> after_; // dependences of the next operation, by number
  tgt_event_t no_event_ = nullptr;
};

} // namespace omptool::mpi
