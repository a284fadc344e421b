// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/command_list.h"

#include "rtl/completions.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

namespace omptool {
using Kind = observe::Operation::Kind;

namespace {

constexpr std::size_t kUsualLinks = 4; // of a region: a copy each way, the kernel, and one to spare

// Describes a failure, as the end of a sentence.
std::string describe_failure(const observe::Operation& failed, const DeviceMemory& memory, const std::string& why) {
  char object[64] = "";
  std::snprintf(object, sizeof object, "the object at %p (%lld bytes)", failed.host,
                static_cast<long long>(failed.size));
  if (failed.kind == Kind::kToDevice)
    return std::string("copying ") + object + " to the device failed (" + why + ")";
  if (failed.kind == Kind::kFromDevice)
    return std::string("copying back ") + object + " failed (" + why + ")";
  return "failed on device " + std::to_string(memory.number()) + " (" + memory.rtl().name() + ") with " + why;
}

} // namespace

void CommandList::after(EventPtr event, bool joins_stream) {
  Chain& own = chain();
  if (joins_stream)
    own.stream = event;
  const bool known = std::find(own.awaited.begin(), own.awaited.end(), event) != own.awaited.end();
  if (!known && event != own.filled && event != own.ended)
    own.awaited.push_back(std::move(event));
}

const void* CommandList::keep(const void* bytes, std::size_t size) {
  if (!memory_.chains() && waits_ == Waits::kNow)
    return bytes;
  std::byte* const copy = chain().kept.emplace_back(std::make_unique_for_overwrite<std::byte[]>(size)).get();
  return std::memcpy(copy, bytes, size);
}

// ---- operations ----

bool CommandList::submit_in_order(void* device, const void* host, std::int64_t size) {
  if (memory_.chains())
    return link({Kind::kToDevice, memory_.number(), host, device, size}, memory_.call().async_data_submit,
                memory_.rtl_id(), device, const_cast<void*>(host), size) == 0;
  return wait_for_others() && done(memory_.submit(device, host, size));
}

bool CommandList::retrieve_in_order(void* host, const void* device, std::int64_t size) {
  if (memory_.chains())
    return link({Kind::kFromDevice, memory_.number(), host, device, size}, memory_.call().async_data_retrieve,
                memory_.rtl_id(), host, const_cast<void*>(device), size) == 0;
  return wait_for_others() && done(memory_.retrieve(host, device, size));
}

std::int32_t CommandList::run_in_order(KernelCall kernel, const std::string& name) {
  observe::Operation reported{Kind::kLaunch, memory_.number(), nullptr, kernel.function, 0, name};
  reported.is_later = waits_ == Waits::kLater;
  reported.shape_is_plugins = memory_.takes_shapes();
  if (memory_.chains()) {
    const auto queue = [&](auto... chained) {
      const RtlFunctions& rtl = memory_.call();
      return run_by(rtl.async_run_shaped, rtl.async_run_target_team_region, rtl.async_run_target_region, kernel,
                    chained...);
    };
    // Returns NOT_STARTED for a queued kernel that the plugin has refused, because that has not begun.
    return link(std::move(reported), queue) == 0 ? 0 : OMPTARGET_RTL_NOT_STARTED;
  }
  if (!wait_for_others() || !done(!memory_.is_lost()))
    return OMPTARGET_RTL_NOT_STARTED;
  if (observe::heard()) [[unlikely]]
    observe::begin(reported);
  const std::int32_t result = run_now(kernel);
  observe::end(reported, result == 0);
  return result;
}

// Adds an operation that comes after all before it. `call` is given the values, and what the plugin's functions end
// with.
template <typename Call, typename... Values>
std::int32_t CommandList::link(observe::Operation reported, const Call& call, const Values&... values) {
  Chain& own = chain();
  PerRow<tgt_event_t> dependences(1 + own.awaited.size());
  const std::optional<std::int32_t> count = collect(dependences);
  if (!count || !done(!memory_.is_lost()))
    return 1; // no other way is to be tried
  begin(reported);
  Completions::of(memory_.rtl()); // before its first operation
  tgt_event_t native = nullptr;
  const std::int32_t result = call(values..., *count, dependences.data(), &native);
  if (!memory_.took(result) || !native) {
    own.failure = result != 0 ? memory_.last_error() : " (the plugin gave no event)";
    observe::end(reported, false);
    for (const EventPtr& event : own.behind) // which no operation of this list comes after now
      event->wait_for_operations();
    return result != 0 ? result : 1;
  }
  if (own.links.empty())
    own.links.reserve(kUsualLinks);
  own.links.push_back({native, false, std::move(reported)});
  return 0;
}

// Begins to report an operation of this list, if there is a listener.
void CommandList::begin(observe::Operation& operation) {
  if (!observe::heard()) [[likely]]
    return;
  if (chain_->number == 0)
    chain_->number = observe::next_queue();
  operation.queue = chain_->number;
  observe::begin(operation);
  memory_.note(operation);
}

// Collects the events that the next operation comes after, first the one whose stream it joins. Returns how many they
// are; none if an operation behind one of them has failed. The list keeps those of others, and so their natives live.
std::optional<std::int32_t> CommandList::collect(PerRow<tgt_event_t>& dependences) {
  std::vector<EventPtr>&awaited = chain_->awaited, &behind = chain_->behind;
  const auto first =
      behind.insert(behind.end(), std::make_move_iterator(awaited.begin()), std::make_move_iterator(awaited.end()));
  awaited.clear();
  std::size_t count = 0;
  dependences[count++] = last();
  for (const EventPtr& event : std::span(first, behind.end())) {
    event->wait_queued();                                  // as long as its own thread needs to hand it over
    const bool joins = event == chain_->stream && !last(); // behind what the stream has got since, even if it is done
    const bool follows = (joins || !event->is_done()) && event->can_follow(memory_.rtl(), memory_.rtl_id());
    if (follows && joins)
      dependences[0] = event->native();
    else if (follows)
      dependences[count++] = event->native();
    if ((!follows || event->is_done()) && has_failed(event->wait_for_operations()))
      return std::nullopt;
  }
  return static_cast<std::int32_t>(count);
}

// Waits for the events of other constructs, on a device whose operations are done at once.
bool CommandList::wait_for_others() {
  if (!has_to_wait())
    return true;
  const std::vector<EventPtr> others = std::exchange(chain_->awaited, {});
  return std::none_of(others.begin(), others.end(),
                      [&](const EventPtr& event) { return has_failed(event->wait_for_operations()); });
}

// Records why an operation has failed, and returns whether it has: `why` is not "".
bool CommandList::has_failed(const std::string& why) {
  if (!why.empty())
    chain_->failure = " (" + why + ")";
  return !why.empty();
}

// ---- what others see ----

const EventPtr& CommandList::made(EventPtr& event, Event::Kind kind) const {
  if (!event)
    event = std::make_shared<Event>(&memory_.rtl(), memory_.rtl_id(), kind);
  return event;
}

// Hands the event over: it completes when the queue's present operations have.
void CommandList::hand_over(Event& event) {
  if (has_to_wait() && !memory_.chains())
    wait_for_others();
  // An operation of no effect comes after what has yet to be waited for, too.
  if ((has_to_wait() || (last() && chain_->links.back().is_given)) &&
      link({Kind::kJoin, memory_.number(), nullptr, nullptr}, memory_.call().async_dep, memory_.rtl_id()) != 0)
    chain_->unsaid = wait();
  if (!last()) {
    event.set_done(chain_->unsaid);
    return;
  }
  chain_->links.back().is_given = true;
  event.set_handed_over(last());
}

void CommandList::tell_filled(std::string_view failure) {
  if (!chain_->filled || chain_->filled->is_queued())
    return;
  const std::string& own = chain_->failure; // in brackets
  if (!failure.empty())
    chain_->filled->set_done(std::string(failure));
  else if (!own.empty())
    chain_->filled->set_done(own.substr(2, own.size() - 3));
  else
    hand_over(*chain_->filled);
}

void CommandList::hand_over_events() {
  tell_filled({});
  if (chain_->ended && !chain_->ended->is_queued() && memory_.chains())
    hand_over(*chain_->ended);
}

void CommandList::end_events(std::string_view failure) {
  if (last())
    wait();
  for (const EventPtr& event : {chain_->filled, chain_->ended})
    if (event)
      event->set_done(std::string(failure));
}

std::string CommandList::wait_for_links() {
  std::string failure = std::exchange(chain_->unsaid, {});
  if (!wait_for_others() && failure.empty()) // none of the operations came after that
    failure = "an operation before it failed" + chain_->failure;
  if (!last())
    return failure;
  observe::Operation reported{Kind::kWait, memory_.number(), nullptr, nullptr};
  begin(reported);
  const std::string why = Completions::of(memory_.rtl()).wait(last());
  observe::end(reported, why.empty());
  const std::string own = has_ended(why);
  return failure.empty() ? own : failure;
}

std::string CommandList::failure_of_others() const {
  for (const EventPtr& event : chain_ ? chain_->behind : std::vector<EventPtr>())
    if (!event->wait_for_operations().empty()) {
      event->wait(); // what it leaves unusable is known then
      return event->failure();
    }
  return {};
}

// Ends a chain whose end another thread has seen. set_ended() makes the objects of a failed copy unusable before other
// constructs are informed.
std::string CommandList::has_ended(const std::string& why) {
  Completions& completions = Completions::of(memory_.rtl());
  const bool is_good = !has_failed(why);
  if (is_good && chain_->filled && chain_->filled->is_queued())
    chain_->filled->set_done();
  observe::Operation failed{Kind::kLaunch, memory_.number(), nullptr, nullptr};
  std::int32_t first = 0; // error: what depends on that operation has failed for that reason
  using Time = observe::Operation::Clock::time_point;
  Time before = {};
  std::vector<Link> links = std::exchange(chain_->links, {});
  PerRow<tgt_event_t> over(links.size());
  std::size_t count = 0;
  for (Link& one : links) {
    const std::int32_t result = is_good ? 0 : completions.result_of(one.native);
    if (!memory_.took(result) && first == 0) {
      first = result;
      failed = one.what;
    }
    if (one.what.id != 0) {
      const Completions::Times times = completions.times_of(one.native);
      one.what.began = std::max({one.what.began, before, times.began}); // the device has not begun it before
      before = times.ended == Time() ? Time() : std::max(times.ended, one.what.began);
      observe::end(one.what, result == 0, before);
    }
    if (!one.is_given)
      over[count++] = one.native;
  }
  completions.release({over.data(), count});
  return is_good ? std::string() : describe_failure(failed, memory_, why);
}

} // namespace omptool
