// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "answers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace omptool::mpi {
namespace {

std::string text_of(View bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

// Throws Malformed for a fault of the worker.
void Answers::take(int worker, View message) {
  if (worker == kProgram || static_cast<std::size_t>(worker) >= peers_.all.size())
    throw Malformed("rank " + std::to_string(worker) + " sends answers, and is no worker");
  Peer& peer = peers_.all[static_cast<std::size_t>(worker)];
  peer.pulse.hear();
  peer.is_heard = true;
  const std::int64_t arrived = now();
  for (Reader reader(message); !reader.at_end();)
    take(peer, read_answer(reader), arrived);
}

void Answers::take(Peer& peer, const Answer& answer, std::int64_t arrived) {
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
    pending->requests = peers_.link->receive(pending->into, static_cast<int>(pending->worker), pending->tag);
  else if (answer.bytes.size() != pending->into.size())
    throw Malformed("it sends " + std::to_string(answer.bytes.size()) + " bytes of " +
                    std::to_string(pending->into.size()));
  else if (!answer.bytes.empty())
    std::memcpy(pending->into.data(), answer.bytes.data(), answer.bytes.size());
  if (pending->tag == 0)
    finish(*pending);
}

// Ends answered operations whose bytes, in messages of their own, have arrived.
void Answers::end_moved() {
  const std::vector<PendingPtr> all = peers_.moving;
  for (const PendingPtr& pending : all) {
    if (!pending->held_back.empty() && !peers_.retrieving.is_to_write(pending->held_back, *pending))
      pending->requests =
          peers_.link->send(std::exchange(pending->held_back, {}), static_cast<int>(pending->worker), pending->tag);
    if (pending->other && pending->other->has_failed())
      pending->failure = pending->other->failure;
    if (peers_.link->is_over(static_cast<int>(pending->worker), pending->requests) && pending->held_back.empty() &&
        pending->is_answered && (!pending->other || pending->other->is_done)) {
      std::erase(peers_.moving, pending);
      if (pending->is_copy_from_device()) // the worker's answer came before the bytes
        pending->ran.ended = now();
      finish(*pending);
    }
  }
}

void Answers::finish(Pending& pending) {
  Peer& peer = peers_.all[pending.worker];
  --peers_.pending;
  if (pending.tag != 0)
    peer.free_tags.push_back(pending.tag);
  if (pending.is_copy_from_device())
    peers_.retrieving.remove(pending);
  peers_.events.end(pending, pending.result == OMPTARGET_RTL_DEVICE_LOST);
  peer.pending.remove(pending.id); // which may be the end of it
}

} // namespace omptool::mpi
