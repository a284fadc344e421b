// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/sink.h"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <utility>

namespace omptool::observe {

std::atomic<std::uint32_t> the_sink{kUndecided};

constinit thread_local const Construct* Construct::innermost_ = nullptr;
constinit thread_local bool Unheard::here_ = false;

namespace {

constinit std::array<std::atomic<Listener*>, 8> listeners{};

// Events that wait until the thread holds no lock. The record exists while the thread holds any.
struct Waiting {
  int locks = 0;
  std::vector<Event> events = {};
};
thread_local constinit Waiting* waiting = nullptr;

void tell(const Event& event) {
  for (const std::atomic<Listener*>& one : listeners)
    if (Listener* const listener = one.load(std::memory_order_acquire))
      listener->hear(event);
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

bool decide() {
  return the_sink.fetch_and(~kUndecided, std::memory_order_acq_rel) & kUndecided;
}

void subscribe(Listener& listener) {
  for (std::atomic<Listener*>& one : listeners) {
    Listener* there = nullptr;
    if (one.compare_exchange_strong(there, &listener) || there == &listener)
      break;
  }
  the_sink.fetch_or(kHeard, std::memory_order_release);
}

void unsubscribe(Listener& listener) {
  for (std::atomic<Listener*>& one : listeners) {
    Listener* there = &listener;
    one.compare_exchange_strong(there, nullptr);
  }
  if (std::none_of(listeners.begin(), listeners.end(), [](const auto& one) { return one.load() != nullptr; }))
    the_sink.fetch_and(~kHeard, std::memory_order_release);
}

void report(Event event) {
  if (!heard())
    return;
  if (waiting)
    waiting->events.push_back(std::move(event));
  else
    tell(event);
}

void Postponed::begin() {
  if (!waiting)
    waiting = new Waiting;
  ++waiting->locks;
}

void Postponed::end() {
  if (--waiting->locks > 0)
    return;
  // A listener may make calls that report more.
  const std::unique_ptr<const Waiting> over(std::exchange(waiting, nullptr));
  for (const Event& event : over->events)
    tell(event);
}

// ---- constructs ----

Construct::Construct(const Call& call)
    : call_(call), number_(next_number()), outer_(innermost_), faults_before_(std::uncaught_exceptions()) {
  innermost_ = this;
  report(ConstructBegins{number_, call_});
}

Construct::~Construct() {
  report(ConstructEnds{number_, call_, std::uncaught_exceptions() != faults_before_});
  innermost_ = outer_;
}

std::uint64_t Construct::current() {
  return innermost_ ? innermost_->number_ : 0;
}

// ---- operations ----

Operation begin(Operation operation) {
  if (Unheard::here_)
    return operation;
  const Construct* const construct = Construct::innermost_;
  operation.id = next_number();
  operation.construct = construct ? construct->number_ : 0;
  operation.code = construct ? construct->call_.code : nullptr;
  operation.began = Operation::Clock::now();
  report(OperationBegins{operation});
  return operation;
}

std::uint64_t next_queue() {
  return next_number();
}

void end(Operation& operation, bool done, Operation::Clock::time_point when) {
  if (operation.id == 0)
    return;
  operation.ended = when == Operation::Clock::time_point() ? Operation::Clock::now() : when;
  operation.failed = !done;
  report(OperationEnds{operation});
}

} // namespace omptool::observe
