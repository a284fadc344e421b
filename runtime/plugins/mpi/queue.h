// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hands operations to workers and takes their answers. Operations are gathered until somebody waits or asks, or there
// are many: then those for a worker leave in one message. Nothing here has a thread of its own: whoever waits, or calls
// __tgt_rtl_process_dep, gets everybody's operations on. Only the signs of life that program and workers give each
// other need a thread, which looks some times in a period.
//
// One thread at a time has the turn: it calls MPI, and meanwhile it gives up the lock of the events, so that others
// hand over more. Others that come meanwhile leave MPI to that thread.
//
// The bytes of a small copy to a device travel with its operation, those of a large one in messages of their own,
// from the user's memory. Both leave without waiting for others, and a worker writes them when the operation runs.
// They leave later if a copy from a device has yet to write them.
//
// A worker that MPI reports an error about, that says what it must not, or that is silent too long is lost: its
// operations fail, and those of the others go on.
#pragma once

#include "operation.h"
#include "retrieving.h"
#include "session.h"
#include "transport/clock.h"
#include "transport/numbered.h"
#include "transport/pulse.h"

#include <mutex>
#include <string>
#include <string_view>

namespace omptool::mpi {

class Queue {
public:
  Queue(plugin::Events& events, Session session);

  Session& session() { return session_; }

  // Asks rank `worker` for an operation behind others. 0, or a failure, with last_error set.
  std::int32_t queue(std::size_t worker, Operation&& operation, HostSide host, const plugin::Dependences& order);
  // The same without an order, and waits for it. Returns what the worker's plugin has returned.
  std::int32_t call(std::size_t worker, Operation operation, HostSide host = {}, Buffer* reply = nullptr);

  // A copy from a device of another worker: `giving` is for `from`, `taking` for `worker`. Without an order it waits.
  std::int32_t exchange(std::size_t from, Operation giving, std::size_t worker, Operation taking,
                        const plugin::Dependences* order);

  // With the lock held, which is given up in between: sends what is gathered, and takes what has arrived, if no other
  // thread does. True: something is pending.
  bool progress(plugin::Events::Lock& lock);
  // With the lock held, which is given up in between.
  void await(const plugin::Event& event, plugin::Events::Lock& lock);
  // With the lock held.
  Link::Counts counts() const { return counts_; }
  // Tells the workers that nothing more comes, once all has been done.
  void dismiss();
  std::string_view first_loss() const; // the worker and the reason; "": there is none
  bool can_finalize() const; // MPI_Finalize may wait for a lost worker, also for one that MPI knows to have failed

private:
  // A worker, and its operations.
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

  std::int32_t order_of(Pending& made, const plugin::Dependences& order);
  std::int32_t finish_call(const PendingPtr& made, plugin::Events::Lock& lock);
  bool await_turn(std::size_t worker, plugin::Events::Lock& lock);
  std::int32_t take_tag(Peer& peer);
  void send(PendingPtr pending, Operation& operation, HostSide host);
  void take(int worker, View message);
  void take(Peer& peer, const Answer& answer, std::int64_t arrived);
  void move_on();
  void finish(Pending& pending);
  const std::string& why_not(std::size_t worker) const;
  std::string name_of(std::size_t worker) const;
  void ping(std::size_t worker);
  void look_after_workers();
  void keep_watch();
  void heed_faults();
  void lose(std::size_t worker, const std::string& how);

  plugin::Events& events_;
  Session session_;
  std::mutex turn_;            // held by the thread that calls MPI; nobody waits for it
  std::unique_ptr<Link> link_; // null: there are no workers
  Link::Counts counts_;
  std::vector<Peer> peers_; // by rank
  Retrieving retrieving_;
  std::vector<PendingPtr> moving_;   // those whose bytes travel alone
  std::vector<std::uint64_t> after_; // what the next operation comes after, by number
  std::size_t pending_ = 0;
  tgt_event_t no_event_ = nullptr;
  Pulse::Clock::time_point next_look_ = {};
  std::string lost_;        // why no worker is asked any more; "" if they are
  bool is_over_ = false;    // nothing comes from workers any more
  bool is_all_sent_ = true; // of what has been gathered
};

} // namespace omptool::mpi
