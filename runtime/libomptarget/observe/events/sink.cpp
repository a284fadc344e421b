// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/events/sink.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace omptool::observe {

std::atomic<std::uint32_t> the_sink{kUndecided};

constinit thread_local const Begun* Within::innermost_ = nullptr;
constinit thread_local Construct* Construct::innermost_ = nullptr;
constinit thread_local bool Unheard::here_ = false;
constinit thread_local const void* Shown::here_ = nullptr;

namespace {

// A place in the list of listeners, which only grows: other threads may be reading it.
struct Place {
  std::atomic<Listener*> listener{nullptr}; // null: the next listener may have the place
  std::atomic<Place*> next{nullptr};
};
constinit std::atomic<Place*> places{nullptr};

Place* first_place() {
  return places.load(std::memory_order_acquire);
}
Place* next_place(const Place& place) {
  return place.next.load(std::memory_order_acquire);
}

// The locks that the thread holds, and the events that wait until it holds none; null: there are none.
thread_local constinit int locks [[gnu::tls_model("initial-exec")]] = 0;
thread_local constinit std::vector<KeptEvent>* waiting [[gnu::tls_model("initial-exec")]] = nullptr;
// Last reading of the clock by this thread. The epoch: the next event has to read the clock again.
thread_local constinit Clock::time_point last_reading [[gnu::tls_model("initial-exec")]] = {};

void tell_at_once(const Event& event) {
  for (const Place* place = first_place(); place; place = next_place(*place))
    if (Listener* const listener = place->listener.load(std::memory_order_acquire))
      listener->hear(event);
}

// Returns the next number of a construct. Each thread reserves some in advance.
std::uint64_t next_number() {
  constexpr std::uint64_t kInAdvance = 1 << 10;
  static std::atomic<std::uint64_t> given{0};
  thread_local constinit std::uint64_t last [[gnu::tls_model("initial-exec")]] = 0;
  if (last % kInAdvance == 0)
    last = given.fetch_add(kInAdvance, std::memory_order_relaxed);
  return ++last;
}

Clock::time_point read_clock() {
  return last_reading = Clock::now();
}

} // namespace

Clock::time_point latest() {
  return last_reading == Clock::time_point() ? read_clock() : last_reading;
}

Clock::time_point now() {
  return Clock::now();
}

void note_pause() {
  last_reading = {};
}

void decided() {
  the_sink.fetch_and(~kUndecided, std::memory_order_release);
}

void subscribe(Listener& listener, std::uint32_t what) {
  std::unique_ptr<Place> made;
  for (std::atomic<Place*>* link = &places;;) {
    Place* place = link->load(std::memory_order_acquire);
    if (!place) {
      if (!made) {
        made = std::make_unique<Place>();
        made->listener = &listener;
      }
      if (link->compare_exchange_strong(place, made.get())) {
        made.release();
        break;
      }
    }
    Listener* there = nullptr;
    if (place->listener.compare_exchange_strong(there, &listener) || there == &listener)
      break;
    link = &place->next;
  }
  the_sink.fetch_or(what, std::memory_order_release);
}

void unsubscribe(Listener& listener) {
  bool any_left = false;
  for (Place* place = first_place(); place; place = next_place(*place)) {
    Listener* there = &listener;
    if (!place->listener.compare_exchange_strong(there, nullptr) && there)
      any_left = true;
  }
  if (!any_left)
    the_sink.fetch_and(~(kHeard | kBegins | kOnThread | kDifferences), std::memory_order_release);
}

void tell_listeners(const Event& event) {
  if (locks == 0)
    return tell_at_once(event);
  if (!waiting)
    waiting = new std::vector<KeptEvent>;
  waiting->push_back(kept(event));
}

void Postponed::begin() {
  ++locks;
}

void Postponed::end() {
  if (--locks > 0 || !waiting)
    return;
  // Waiting events to pass on. A listener may make calls that report more.
  const std::unique_ptr<const std::vector<KeptEvent>> over(std::exchange(waiting, nullptr));
  for (const KeptEvent& event : *over)
    std::visit([](const auto& one) { tell_at_once(&one); }, event);
}

// ---- constructs ----

const Begun* construct_here() {
  return Within::innermost();
}

Construct::Construct(const Call& call)
    : begun_{next_number(), call, read_clock()}, faults_before_(std::uncaught_exceptions()), outer_(innermost_),
      within_(begun_) {
  innermost_ = this;
  if (hears_begins())
    report(ConstructBegins{begun_.number, begun_.call});
}

Construct::~Construct() {
  note_pause();
  if (!is_left_)
    report(ConstructEnds{begun_.number, begun_.call, std::uncaught_exceptions() != faults_before_, begun_.when});
  innermost_ = outer_;
}

void Construct::leave(Rest& rest) {
  if (!innermost_)
    return;
  innermost_->is_left_ = true;
  rest.construct_ = innermost_->begun_;
}

void Construct::take_back(Rest& rest) {
  if (std::exchange(rest.construct_, {}).number != 0)
    innermost_->is_left_ = false;
}

void Rest::end() {
  if (const Begun over = std::exchange(construct_, {}); over.number != 0)
    report(ConstructEnds{over.number, over.call, false, over.when, true});
}

// ---- operations ----

void begin(Operation& operation) {
  if (Unheard::here_)
    return;
  const Begun* const construct = Within::innermost();
  operation.id = next_number();
  operation.construct = construct ? construct->number : 0;
  operation.code = construct ? construct->call.code : nullptr;
  if (Shown::here_)
    operation.host = Shown::here_;
  operation.began = latest();
  note_pause(); // until it has ended
  if (hears_begins())
    report(OperationBegins{operation});
}

std::uint64_t next_queue() {
  return next_number();
}

std::uint64_t next_module() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void end(Operation& operation, bool done, Clock::time_point when) {
  if (operation.id == 0)
    return;
  const Clock::time_point ended = when == Clock::time_point() ? read_clock() : when;
  OperationEnds over{operation};
  over.operation.ended = std::max(ended, operation.began); // each by another thread's reading
  over.operation.failed = !done;
  report(over);
}

} // namespace omptool::observe
