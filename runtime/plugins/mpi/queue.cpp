// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "backoff.h"
#include "common/calls.h"

#include <algorithm>
#include <utility>

namespace omptool::mpi {
namespace {

constexpr std::size_t kSmall = 16384; // bytes of a copy that travel with its operation
constexpr std::size_t kFull = 16384;  // of records that leave while more are gathered: the worker begins with them

} // namespace

// Finds the operations that this one follows, and its stream. Copies the failure of one that has failed. Returns 0, or
// a failure, with last_error set.
std::int32_t Queue::order_of(Pending& made, const plugin::Dependences& order) {
  after_.clear();
  for (std::size_t i = 0; i < order.before.size(); ++i) {
    if (!order.before[i])
      continue;
    const Pending* const before = peers_.events.look_up<Pending>(order.before[i]);
    if (!before)
      return 1;
    if (i == 0 && before->worker == made.worker)
      made.stream = before->stream;
    if (!before->is_done && before->worker != made.worker)
      return fail("the operation is to follow one of another worker");
    if (!before->is_done)
      after_.push_back(before->id);
    else if (before->has_failed()) {
      made.failure = before->failure;
      made.is_lost = before->is_lost && before->worker == made.worker;
    }
  }
  if (!made.stream)
    made.stream = std::make_shared<Stream>();
  const std::uint64_t last = made.stream->last;
  if (peers_.all[made.worker].pending.find(last) && std::find(after_.begin(), after_.end(), last) == after_.end())
    after_.push_back(last);
  return 0;
}

std::int32_t Queue::queue(std::size_t worker, Operation&& operation, HostSide host, const plugin::Dependences& order) {
  plugin::Events::Lock lock = peers_.events.lock();
  if (!await_tag(worker, lock))
    return OMPTARGET_RTL_DEVICE_LOST;
  auto made = std::make_shared<Pending>();
  made->worker = worker;
  if (const std::int32_t result = order_of(*made, order); result != 0)
    return result;
  peers_.events.add(made);
  order.made = made->handle();
  operation.after = after_;
  if (!made->failure.empty())
    peers_.events.end(*made, made->is_lost);
  else if (send(std::move(made), operation, host); peers_.link->records_for(worker).size() >= kFull)
    turn_.advance(lock);
  return 0;
}

std::int32_t Queue::call(std::size_t worker, Operation operation, HostSide host, Buffer* reply) {
  plugin::Events::Lock lock = peers_.events.lock();
  if (!await_tag(worker, lock))
    return OMPTARGET_RTL_DEVICE_LOST;
  const auto made = std::make_shared<Pending>();
  made->worker = worker;
  made->is_released = true;
  send(made, operation, host);
  const std::int32_t result = finish_call(made, lock);
  if (result == 0 && reply)
    *reply = std::move(made->reply);
  return result;
}

std::int32_t Queue::exchange(std::size_t from, Operation giving, std::size_t worker, Operation taking,
                             const plugin::Dependences* order) {
  plugin::Events::Lock lock = peers_.events.lock();
  if (!await_tag(worker, lock))
    return OMPTARGET_RTL_DEVICE_LOST;
  if (const std::string& why = losses_.why_not(from); !why.empty())
    return fail(why); // the worker that takes is not lost by that
  const auto made = std::make_shared<Pending>(), other = std::make_shared<Pending>();
  made->worker = worker;
  other->worker = from;
  other->is_released = true;
  made->is_released = !order;
  if (const std::int32_t result = order_of(*made, order ? *order : plugin::Dependences{{}, no_event_}); result != 0)
    return result;
  taking.after = after_;
  if (order) {
    peers_.events.add(made);
    order->made = made->handle();
  }
  if (made->failure.empty()) {
    made->other = other;
    giving.tag = taking.tag = take_tag(peers_.all[worker]);
    giving.value = static_cast<std::int32_t>(worker);
    taking.value = static_cast<std::int32_t>(from);
    send(other, giving, {});
    send(made, taking, {});
  } else
    peers_.events.end(*made, made->is_lost);
  return order ? 0 : finish_call(made, lock);
}

// Finishes a call: waits for an operation whose event no caller has.
std::int32_t Queue::finish_call(const PendingPtr& made, plugin::Events::Lock& lock) {
  turn_.await(*made, lock);
  if (!made->has_failed())
    return 0;
  fail(made->failure);
  return made->is_lost ? OMPTARGET_RTL_DEVICE_LOST : made->result != 0 ? made->result : 1;
}

// Waits for a free tag: all of them may belong to large copies in flight. Returns false, with last_error set, if the
// worker is lost.
bool Queue::await_tag(std::size_t worker, plugin::Events::Lock& lock) {
  const Peer& peer = peers_.all[worker];
  for (Backoff backoff; !peer.has_tag() && losses_.why_not(worker).empty();) {
    turn_.advance(lock);
    lock.unlock();
    backoff.pause();
    lock.lock();
  }
  const std::string& why = losses_.why_not(worker);
  if (!why.empty())
    fail(why);
  return why.empty();
}

std::int32_t Queue::take_tag(Peer& peer) {
  if (peer.free_tags.empty())
    return peer.next_tag++;
  const std::int32_t tag = peer.free_tags.back();
  peer.free_tags.pop_back();
  return tag;
}

void Queue::send(PendingPtr pending, Operation& operation, HostSide host) {
  Peer& peer = peers_.all[pending->worker];
  pending->id = operation.id = ++peer.last_id;
  const std::uint64_t oldest = peer.pending.empty() ? operation.id : peer.pending.oldest();
  operation.unknown = static_cast<std::uint32_t>(std::min<std::uint64_t>(operation.id - oldest, UINT32_MAX));
  if (pending->stream)
    pending->stream->last = operation.id;
  pending->kind = operation.kind;
  pending->into = host.into;
  const std::size_t size = std::max(host.from.size(), host.into.size());
  if (size <= kSmall && !peers_.retrieving.is_to_write(host.from, *pending)) {
    operation.bytes = host.from.empty() ? operation.bytes : host.from;
  } else {
    operation.tag = take_tag(peer);
    if (!host.from.empty())
      operation.size = size;
  }
  if (operation.kind != Kind::kGive) // whose tag is that of the other side
    pending->tag = operation.tag;
  Buffer& records = peers_.link->records_for(pending->worker);
  if (records.empty() || peer.pending.empty())
    peer.asked = now();
  pending->sent = peer.asked;
  write(records, operation);
  ++peers_.pending;
  if (pending->is_copy_from_device())
    peers_.retrieving.add(pending);
  if (pending->tag != 0) {
    peers_.moving.push_back(pending);
    pending->held_back = host.from;
  }
  peer.pending.add(operation.id, std::move(pending));
}

// Dismisses the workers. Each has to send a last sign, because a worker that hangs would block MPI_Finalize.
void Queue::dismiss() {
  plugin::Events::Lock lock = peers_.events.lock();
  const auto progress_until = [&](const auto& is_so) {
    for (Backoff backoff; turn_.advance(lock), !is_so();) {
      lock.unlock();
      backoff.pause();
      lock.lock();
    }
  };
  progress_until([&] { return peers_.pending == 0; });
  if (losses_.has_ended())
    return;
  losses_.end("the program has ended its use of MPI");
  for (std::size_t worker = 1; worker < peers_.all.size(); ++worker) {
    peers_.all[worker].is_heard = false;
    losses_.ping(worker);
  }
  const auto is_silent = [](const Peer& peer) { return !peer.is_heard && peer.lost.empty(); };
  progress_until([&] { return std::none_of(peers_.all.begin() + 1, peers_.all.end(), is_silent); });
  for (std::size_t worker = 1; worker < peers_.all.size(); ++worker)
    write(
        peers_.link->records_for(worker),
        Operation{.kind = Kind::kGoodbye, .id = ++peers_.all[worker].last_id, .value = losses_.can_finalize() ? 0 : 1});
  progress_until([&] { return turn_.is_all_sent() && !peers_.link->has_records(); });
  turn_.end(lock);
}

} // namespace omptool::mpi
