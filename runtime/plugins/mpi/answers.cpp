// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "backoff.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace omptool::mpi {
namespace {

std::string text_of(View bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

// ---- answers in ----

bool Queue::progress(plugin::Events::Lock& lock) {
  if (is_over_)
    return false;
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn)
    return true; // the other thread says how it goes
  std::vector<Link::Letter> letters = link_->gather();
  is_all_sent_ = false;
  lock.unlock();
  link_->post(std::move(letters));
  std::vector<Link::Received> answers = link_->receive(kAnswers);
  const bool is_all_sent = link_->tidy();
  lock.lock();
  is_all_sent_ = is_all_sent;
  counts_ = link_->counts();
  link_->read(std::move(answers), [&](int worker, const Buffer& message) { take(worker, message); });
  heed_faults();
  if (!moving_.empty())
    move_on();
  look_after_workers();
  heed_faults();
  return pending_ != 0;
}

// An exception that leaves this is a fault of the worker.
void Queue::take(int worker, View message) {
  if (worker == kProgram || static_cast<std::size_t>(worker) >= peers_.size())
    throw Malformed("rank " + std::to_string(worker) + " sends answers, and is no worker");
  Peer& peer = peers_[static_cast<std::size_t>(worker)];
  peer.pulse.hear();
  peer.is_heard = true;
  const std::int64_t arrived = now();
  for (Reader reader(message); !reader.at_end();)
    take(peer, read_answer(reader), arrived);
}

void Queue::take(Peer& peer, const Answer& answer, std::int64_t arrived) {
  if (answer.id == 0) {
    if (answer.result != 0)
      throw Malformed("it has ended: " + text_of(answer.bytes));
    return;
  }
  Pending* const pending = peer.pending.find(answer.id).get();
  if (!pending || pending->is_answered)
    throw Malformed("it answers operation " + std::to_string(answer.id) + ", which does not wait for that");
  const bool has_tag = answer.result == 0 && pending->is_copy_from_device();
  if (answer.tag != (has_tag ? pending->tag : 0))
    throw Malformed("it answers operation " + std::to_string(answer.id) + " with tag " + std::to_string(answer.tag));
  pending->is_answered = true;
  pending->result = answer.result;
  pending->ran = peer.clock.translate(answer.ran, pending->sent, arrived);
  if (answer.result != 0)
    pending->failure = answer.bytes.empty() ? "error " + std::to_string(answer.result) : text_of(answer.bytes);
  else if (!pending->is_copy_from_device())
    pending->reply.assign(answer.bytes.begin(), answer.bytes.end());
  else if (pending->tag != 0)
    pending->requests = link_->receive(pending->into, static_cast<int>(pending->worker), pending->tag);
  else if (answer.bytes.size() != pending->into.size())
    throw Malformed("it sends " + std::to_string(answer.bytes.size()) + " bytes of " +
                    std::to_string(pending->into.size()));
  else if (!answer.bytes.empty())
    std::memcpy(pending->into.data(), answer.bytes.data(), answer.bytes.size());
  if (pending->tag == 0)
    finish(*pending);
}

// Operations whose bytes travel alone end when these have arrived, too.
void Queue::move_on() {
  const std::vector<PendingPtr> all = moving_;
  for (const PendingPtr& pending : all) {
    if (!pending->held_back.empty() && !retrieving_.is_to_write(pending->held_back, *pending))
      pending->requests =
          link_->send(std::exchange(pending->held_back, {}), static_cast<int>(pending->worker), pending->tag);
    if (pending->other && pending->other->has_failed())
      pending->failure = pending->other->failure;
    if (link_->is_over(static_cast<int>(pending->worker), pending->requests) && pending->held_back.empty() &&
        pending->is_answered && (!pending->other || pending->other->is_done)) {
      std::erase(moving_, pending);
      if (pending->is_copy_from_device()) // the worker's answer came before the bytes
        pending->ran.ended = now();
      finish(*pending);
    }
  }
}

void Queue::finish(Pending& pending) {
  Peer& peer = peers_[pending.worker];
  --pending_;
  if (pending.tag != 0)
    peer.free_tags.push_back(pending.tag);
  if (pending.is_copy_from_device())
    retrieving_.remove(pending);
  events_.end(pending, pending.result == OMPTARGET_RTL_DEVICE_LOST);
  peer.pending.remove(pending.id); // which may be the end of it
}

// ---- waiting ----

void Queue::await(const plugin::Event& event, plugin::Events::Lock& lock) {
  Backoff backoff;
  for (std::uint64_t received = counts_.received; !event.is_done && (progress(lock), !event.is_done);) {
    if (std::exchange(received, counts_.received) != counts_.received) // more answers may be right behind
      backoff.reset();
    lock.unlock();
    backoff.pause();
    lock.lock();
  }
}

} // namespace omptool::mpi
