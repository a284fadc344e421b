// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "backoff.h"
#include "common/calls.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace omptool::mpi {
namespace {

constexpr std::size_t kSmall = 16384; // bytes of a copy that travel with its operation

bool overlap(View one, View other) {
  return one.data() < other.data() + other.size() && other.data() < one.data() + one.size();
}

std::string text_of(View bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

Queue::Queue(plugin::Events& events, Session session)
    : events_(events), session_(std::move(session)), peers_(session_.crew.greetings.size() + 1) {
  if (session_.reason.empty())
    link_ = std::make_unique<Link>(*session_.mpi, session_.crew.communicator);
  else
    lost_ = session_.reason;
}

// ---- operations out ----

// Finds what the operation follows, and makes its event. The event ends at once if one of those has failed. Returns 0,
// or a failure, with last_error set.
std::int32_t Queue::order_of(Pending& made, const plugin::Dependences& order, std::vector<std::uint64_t>& after) {
  made.failure = lost_;
  made.is_lost = !lost_.empty();
  for (std::size_t i = 0; i < order.before.size(); ++i) {
    if (!order.before[i])
      continue;
    const PendingPtr before = events_.find<Pending>(order.before[i]);
    if (!before)
      return 1;
    if (i == 0)
      made.stream = before->stream;
    if (!before->is_done && before->worker != made.worker)
      return fail("the operation is to follow one of another worker");
    if (!before->is_done)
      after.push_back(before->id);
    else if (before->has_failed()) {
      made.failure = before->failure;
      made.is_lost = before->is_lost;
    }
  }
  if (!made.stream)
    made.stream = std::make_shared<Stream>();
  if (const PendingPtr last = made.stream->last.lock();
      last && !last->is_done && std::find(after.begin(), after.end(), last->id) == after.end())
    after.push_back(last->id);
  return 0;
}

std::int32_t Queue::queue(std::size_t worker, Operation operation, HostSide host, const plugin::Dependences& order) {
  const plugin::Events::Lock lock = events_.lock();
  const auto made = std::make_shared<Pending>();
  made->worker = worker;
  std::vector<std::uint64_t> after;
  if (const std::int32_t result = order_of(*made, order, after); result != 0)
    return result;
  made->stream->last = made;
  events_.add(made);
  order.made = made->handle();
  operation.after = after;
  if (made->failure.empty())
    send(made, operation, host);
  else
    events_.end(*made, made->failure, made->is_lost);
  return 0;
}

std::int32_t Queue::call(std::size_t worker, Operation operation, HostSide host, Buffer* reply) {
  plugin::Events::Lock lock = events_.lock();
  if (!lost_.empty()) {
    fail(lost_);
    return OMPTARGET_RTL_DEVICE_LOST;
  }
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
  plugin::Events::Lock lock = events_.lock();
  const auto made = std::make_shared<Pending>(), other = std::make_shared<Pending>();
  made->worker = worker;
  other->worker = from;
  other->is_released = true;
  made->is_released = !order;
  std::vector<std::uint64_t> after;
  if (const std::int32_t result = order_of(*made, order ? *order : plugin::Dependences{{}, no_event_}, after);
      result != 0)
    return result;
  taking.after = after;
  if (order) {
    made->stream->last = made;
    events_.add(made);
    order->made = made->handle();
  }
  if (made->failure.empty()) {
    made->other = other;
    giving.tag = taking.tag = take_tag(peers_[worker]);
    giving.value = static_cast<std::int32_t>(worker);
    taking.value = static_cast<std::int32_t>(from);
    send(other, giving, {});
    send(made, taking, {});
  } else
    events_.end(*made, made->failure, made->is_lost);
  return order ? 0 : finish_call(made, lock);
}

// Waits for an operation whose event nobody has.
std::int32_t Queue::finish_call(const PendingPtr& made, plugin::Events::Lock& lock) {
  await(*made, lock);
  if (!made->has_failed())
    return 0;
  fail(made->failure);
  return made->is_lost ? OMPTARGET_RTL_DEVICE_LOST : made->result != 0 ? made->result : 1;
}

std::int32_t Queue::take_tag(Peer& peer) {
  if (peer.free_tags.empty() && peer.next_tag <= kLastTag)
    peer.free_tags.push_back(peer.next_tag++);
  if (peer.free_tags.empty())
    throw std::runtime_error("too many large copies are on their way to one worker");
  const std::int32_t tag = peer.free_tags.back();
  peer.free_tags.pop_back();
  return tag;
}

void Queue::send(const PendingPtr& pending, Operation operation, HostSide host) {
  Peer& peer = peers_[pending->worker];
  pending->id = operation.id = ++peer.last_id;
  pending->kind = operation.kind;
  pending->into = host.into;
  const std::size_t size = std::max(host.from.size(), host.into.size());
  const bool has_to_wait = is_to_be_written(host.from);
  if (size <= kSmall && !has_to_wait) {
    operation.bytes = host.from.empty() ? operation.bytes : host.from;
  } else {
    operation.tag = take_tag(peer);
    if (!host.from.empty())
      operation.size = size;
  }
  if (operation.kind != Kind::kGive) // whose tag is that of the other side
    pending->tag = operation.tag;
  write(link_->records_for(pending->worker), operation);
  peer.pending.emplace(operation.id, pending);
  ++pending_;
  if (pending->is_copy_from_device())
    retrieving_.push_back(pending);
  if (pending->tag == 0)
    return;
  moving_.push_back(pending);
  if (has_to_wait)
    pending->held_back = host.from;
  else if (!host.from.empty())
    pending->requests = link_->send(host.from, static_cast<int>(pending->worker), pending->tag);
}

// A copy from a device has yet to write some of them.
bool Queue::is_to_be_written(View bytes) const {
  return !bytes.empty() && std::any_of(retrieving_.begin(), retrieving_.end(),
                                       [&](const PendingPtr& one) { return overlap(one->into, bytes); });
}

// ---- answers in ----

bool Queue::progress() {
  if (!lost_.empty())
    return false;
  try {
    link_->post();
    link_->take(kAnswers, [&](int worker, View message) { take(static_cast<std::size_t>(worker), message); });
    if (!moving_.empty())
      move_on();
    link_->tidy();
  } catch (const std::exception& error) {
    lose(error.what());
  }
  return pending_ != 0;
}

void Queue::take(std::size_t worker, View message) {
  for (Reader reader(message); !reader.at_end();)
    take(peers_.at(worker), read_answer(reader));
}

void Queue::take(Peer& peer, const Answer& answer) {
  const auto found = peer.pending.find(answer.id);
  if (found == peer.pending.end() || found->second->is_answered)
    throw Malformed("a worker answers operation " + std::to_string(answer.id) + ", which does not wait for that");
  const PendingPtr pending = found->second;
  pending->is_answered = true;
  pending->result = answer.result;
  if (answer.result != 0)
    pending->failure = answer.bytes.empty() ? "error " + std::to_string(answer.result) : text_of(answer.bytes);
  else if (!pending->is_copy_from_device())
    pending->reply.assign(answer.bytes.begin(), answer.bytes.end());
  else if (pending->tag != 0)
    pending->requests = link_->receive(pending->into, static_cast<int>(pending->worker), pending->tag);
  else if (answer.bytes.size() != pending->into.size())
    throw Malformed("a worker sends " + std::to_string(answer.bytes.size()) + " bytes of " +
                    std::to_string(pending->into.size()));
  else if (!answer.bytes.empty())
    std::memcpy(pending->into.data(), answer.bytes.data(), answer.bytes.size());
  if (pending->tag == 0)
    finish(pending);
}

// Operations whose bytes travel alone end when these have arrived, too.
void Queue::move_on() {
  const std::vector<PendingPtr> all = moving_;
  for (const PendingPtr& pending : all) {
    if (!pending->held_back.empty() && !is_to_be_written(pending->held_back))
      pending->requests =
          link_->send(std::exchange(pending->held_back, {}), static_cast<int>(pending->worker), pending->tag);
    if (pending->other && pending->other->has_failed())
      pending->failure = pending->other->failure;
    if (link_->is_over(pending->requests) && pending->held_back.empty() && pending->is_answered &&
        (!pending->other || pending->other->is_done)) {
      std::erase(moving_, pending);
      finish(pending);
    }
  }
}

void Queue::finish(const PendingPtr& pending) {
  Peer& peer = peers_[pending->worker];
  peer.pending.erase(pending->id);
  --pending_;
  if (pending->tag != 0)
    peer.free_tags.push_back(pending->tag);
  if (pending->is_copy_from_device())
    std::erase(retrieving_, pending);
  events_.end(*pending, pending->failure, pending->result == OMPTARGET_RTL_DEVICE_LOST);
}

// No worker can be told from the others by what MPI reports: all are lost.
void Queue::lose(const std::string& reason) {
  lost_ = reason;
  moving_.clear();
  retrieving_.clear();
  pending_ = 0;
  for (Peer& peer : peers_)
    for (const auto& [id, pending] : std::exchange(peer.pending, {}))
      events_.end(*pending, reason, true);
}

// ---- waiting ----

void Queue::await(const plugin::Event& event, plugin::Events::Lock& lock) {
  Backoff backoff;
  while (progress(), !event.is_done) {
    lock.unlock();
    backoff.pause();
    lock.lock();
  }
}

void Queue::dismiss() {
  plugin::Events::Lock lock = events_.lock();
  if (!lost_.empty())
    return;
  for (Backoff backoff; progress();)
    backoff.pause();
  if (!lost_.empty())
    return;
  for (std::size_t worker = 1; worker < peers_.size(); ++worker)
    write(link_->records_for(worker), Operation{Kind::kGoodbye, 0, ++peers_[worker].last_id});
  link_->post();
  for (Backoff backoff; !link_->tidy();)
    backoff.pause();
  lost_ = "the program has ended its use of MPI";
}

} // namespace omptool::mpi
