// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "turn.h"

#include "backoff.h"

#include <system_error>
#include <thread>
#include <utility>

namespace omptool::mpi {

bool Turn::advance(plugin::Events::Lock& lock) {
  if (is_over_ || !peers_.link)
    return false;
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn)
    return true; // the other thread says how it goes
  std::vector<Link::Letter> letters = peers_.link->gather();
  is_all_sent_ = false;
  lock.unlock();
  peers_.link->post(std::move(letters));
  std::vector<Link::Received> answers = peers_.link->receive(kAnswers);
  const bool is_all_sent = peers_.link->tidy();
  lock.lock();
  is_all_sent_ = is_all_sent;
  counts_ = peers_.link->counts();
  peers_.link->read(std::move(answers), [&](int worker, const Buffer& message) { answers_.take(worker, message); });
  losses_.handle_faults();
  if (!peers_.moving.empty())
    answers_.end_moved();
  losses_.check_pulses();
  losses_.handle_faults();
  return peers_.pending != 0;
}

void Turn::await(const plugin::Event& event, plugin::Events::Lock& lock) {
  Backoff backoff;
  for (std::uint64_t received = counts_.received; !event.is_done && (advance(lock), !event.is_done);) {
    if (std::exchange(received, counts_.received) != counts_.received) // more answers may be right behind
      backoff.reset();
    lock.unlock();
    backoff.pause();
    lock.lock();
  }
}

// Runs on a thread of its own, so that workers are also watched while no thread waits.
void Turn::keep_watch() {
  constexpr int kLooks = 16; // in a period
  for (;;) {
    std::this_thread::sleep_for(Pulse::Clock::duration(peers_.session.heartbeat) / kLooks);
    plugin::Events::Lock lock = peers_.events.lock();
    if (is_over_)
      return;
    advance(lock);
  }
}

void Turn::start_watch() {
  if (!peers_.link || !peers_.has_heartbeat())
    return;
  try {
    std::thread([this] { keep_watch(); }).detach();
  } catch (const std::system_error&) { // who waits checks the workers, too
  }
}

void Turn::end(plugin::Events::Lock& lock) {
  is_over_ = true;
  lock.unlock();
  const std::lock_guard turn(turn_); // another thread may still have it
}

} // namespace omptool::mpi
