// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/command_list.h"

#include "rtl/completions.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace omptool {
using Kind = observe::Operation::Kind;

CommandList::~CommandList() {
  if (last())
    wait();
  set_ended({});
}

void CommandList::after(EventPtr event) {
  const bool known = std::find(awaited_.begin(), awaited_.end(), event) != awaited_.end();
  if (!known && event != filled_ && event != ended_)
    awaited_.push_back(std::move(event));
}

void CommandList::in_stream_of(const EventPtr& event) {
  stream_ = event;
  after(event);
}

const void* CommandList::keep(const void* bytes, std::size_t size) {
  if (!memory_.chains() && use_ == Use::kNow)
    return bytes;
  const auto* const first = static_cast<const std::byte*>(bytes);
  return kept_.emplace_back(first, first + size).data();
}

// ---- operations ----

bool CommandList::submit(void* device, const void* host, std::int64_t size) {
  if (memory_.chains())
    return chain({Kind::kToDevice, memory_.number(), host, device, size}, [&](auto... chained) {
             return memory_.call().async_data_submit(memory_.rtl_id(), device, const_cast<void*>(host), size,
                                                     chained...);
           }) == 0;
  if (!wait_for_others())
    return false;
  const bool done = memory_.submit(device, host, size);
  if (!done)
    failure_ = memory_.last_error();
  return done;
}

bool CommandList::retrieve(void* host, const void* device, std::int64_t size) {
  if (memory_.chains())
    return chain({Kind::kFromDevice, memory_.number(), host, device, size}, [&](auto... chained) {
             return memory_.call().async_data_retrieve(memory_.rtl_id(), host, const_cast<void*>(device), size,
                                                       chained...);
           }) == 0;
  if (!wait_for_others())
    return false;
  const bool done = memory_.retrieve(host, device, size);
  if (!done)
    failure_ = memory_.last_error();
  return done;
}

bool CommandList::fill(void* device, int value, std::int64_t size) {
  if (memory_.chains() && memory_.call().async_data_fill) {
    const std::int32_t result = chain({Kind::kFill, memory_.number(), nullptr, device, size}, [&](auto... chained) {
      return memory_.call().async_data_fill(memory_.rtl_id(), device, value, size, chained...);
    });
    if (result != OMPTARGET_RTL_NOT_STARTED)
      return result == 0;
  }
  return done_now([&] { return memory_.fill(device, value, size); });
}

bool CommandList::exchange(void* device, const DeviceMemory& other, const void* source, std::int64_t size) {
  if (memory_.chains() && memory_.call().async_data_exchange && &memory_.rtl() == &other.rtl()) {
    const std::int32_t result =
        chain({Kind::kBetweenDevices, memory_.number(), source, device, size, {}, 0, 0, nullptr, 0, other.number()},
              [&](auto... chained) {
                return memory_.call().async_data_exchange(other.rtl_id(), const_cast<void*>(source), memory_.rtl_id(),
                                                          device, size, chained...);
              });
    if (result != OMPTARGET_RTL_NOT_STARTED)
      return result == 0;
  }
  return done_now([&] { return memory_.copy_from(device, other, source, size); });
}

// By a function that has done it when it returns; so must be all before it.
template <typename Work> bool CommandList::done_now(const Work& work) {
  if (!wait_for_others() || !wait().empty())
    return false;
  const bool done = work();
  if (!done)
    failure_ = memory_.last_error();
  return done;
}

// A queued kernel that the plugin has not taken has not begun.
std::int32_t CommandList::run(void* function, void** arguments, std::int32_t count, const LaunchShape& shape,
                              const std::string& name) {
  observe::Operation reported{Kind::kLaunch, memory_.number(), nullptr, function, 0, name};
  reported.is_later = use_ == Use::kLater;
  reported.shape_is_plugins = observe::heard() && takes_compilers_shapes(memory_.call(), memory_.rtl_id());
  if (memory_.chains())
    return chain(std::move(reported),
                 [&](auto... chained) {
                   return queue_in_shape(memory_.call(), memory_.rtl_id(), function, arguments, count, shape,
                                         chained...);
                 }) == 0
               ? 0
               : OMPTARGET_RTL_NOT_STARTED;
  if (!wait_for_others() || !is_there())
    return OMPTARGET_RTL_NOT_STARTED;
  if (observe::heard()) [[unlikely]]
    reported = observe::begin(std::move(reported));
  const std::int32_t result = run_in_shape(memory_.call(), memory_.rtl_id(), function, arguments, count, shape);
  observe::end(reported, result == 0);
  if (result != 0)
    failure_ = memory_.last_error();
  return result;
}

// Adds an operation that comes after all before it. `call` is given what the plugin's functions end with.
template <typename Call> std::int32_t CommandList::chain(observe::Operation reported, const Call& call) {
  const std::vector<EventPtr> behind = std::exchange(awaited_, {}); // whose natives live until the call has returned
  std::vector<tgt_event_t> dependences;
  if (!collect(behind, dependences) || !is_there())
    return 1; // no other way is to be tried
  if (observe::heard()) [[unlikely]]
    reported = tell(std::move(reported));
  Completions::of(memory_.rtl()); // before its first operation
  tgt_event_t native = nullptr;
  const std::int32_t result = call(static_cast<std::int32_t>(dependences.size()), dependences.data(), &native);
  if (!memory_.took(result) || !native) {
    failure_ = result != 0 ? memory_.last_error() : " (the plugin gave no event)";
    observe::end(reported, false);
    return result != 0 ? result : 1;
  }
  links_.push_back({native, false, std::move(reported)});
  return 0;
}

observe::Operation CommandList::tell(observe::Operation operation) {
  if (number_ == 0)
    number_ = observe::next_queue();
  operation.queue = number_;
  return observe::begin(std::move(operation));
}

bool CommandList::is_there() {
  if (memory_.is_lost())
    failure_ = memory_.last_error();
  return !memory_.is_lost();
}

// Collects the events that the next operation comes after, first the one whose stream it joins. Returns false if an
// operation behind one of them has failed.
bool CommandList::collect(const std::vector<EventPtr>& behind, std::vector<tgt_event_t>& dependences) {
  dependences.push_back(last());
  for (const EventPtr& event : behind) {
    event->wait_queued();                           // as long as its own thread needs to hand it over
    const bool joins = event == stream_ && !last(); // behind what the stream has got since, even if it is done
    const bool follows = (joins || !event->is_done()) && event->can_follow(memory_.rtl(), memory_.rtl_id());
    if (follows && joins)
      dependences.front() = event->native();
    else if (follows)
      dependences.push_back(event->native());
    const std::string why = follows && !event->is_done() ? std::string() : event->wait_for_operations();
    if (!why.empty()) {
      failure_ = " (" + why + ")";
      return false;
    }
  }
  return true;
}

// The same where operations are done at once.
bool CommandList::wait_for_others() {
  for (const EventPtr& event : std::exchange(awaited_, {}))
    if (const std::string why = event->wait_for_operations(); !why.empty()) {
      failure_ = " (" + why + ")";
      return false;
    }
  return true;
}

// ---- what others see ----

const EventPtr& CommandList::filled() {
  if (!filled_)
    filled_ = Event::make(&memory_.rtl(), memory_.rtl_id(), memory_.number(), Event::Kind::kFilled);
  return filled_;
}

const EventPtr& CommandList::ended() {
  if (!ended_)
    ended_ = Event::make(&memory_.rtl(), memory_.rtl_id(), memory_.number());
  return ended_;
}

// An operation of no effect, which comes after what has yet to be waited for, too.
void CommandList::join() {
  if (chain({Kind::kJoin, memory_.number(), nullptr, nullptr},
            [&](auto... chained) { return memory_.call().async_dep(memory_.rtl_id(), chained...); }) != 0)
    unsaid_ = wait();
}

// Gives the event what follows the queue as it is now.
void CommandList::hand_over(Event& event) {
  if (!awaited_.empty() && !memory_.chains())
    wait_for_others();
  if (!awaited_.empty() || (last() && links_.back().is_given))
    join();
  if (!last()) {
    event.set_done(unsaid_);
    return;
  }
  links_.back().is_given = true;
  event.set_handed_over(last());
}

void CommandList::set_filled() {
  if (!filled_ || filled_->is_queued())
    return;
  if (failure_.empty())
    hand_over(*filled_);
  else
    filled_->set_done(failure_.starts_with(" (") ? failure_.substr(2, failure_.size() - 3) : failure_);
}

void CommandList::set_handed_over() {
  set_filled();
  if (ended_ && !ended_->is_queued() && memory_.chains())
    hand_over(*ended_);
}

void CommandList::set_ended(const std::string& failure) {
  for (const EventPtr& event : {filled_, ended_})
    if (event)
      event->set_done(failure);
}

std::string CommandList::wait() {
  std::string failure = std::exchange(unsaid_, {});
  if (!awaited_.empty() && !wait_for_others() && failure.empty()) // none of the operations came after that
    failure = "what it came after failed" + failure_;
  if (!last())
    return failure;
  observe::Operation reported{Kind::kWait, memory_.number(), nullptr, nullptr};
  if (observe::heard()) [[unlikely]]
    reported = tell(std::move(reported));
  const std::string why = Completions::of(memory_.rtl()).wait(last());
  observe::end(reported, why.empty());
  const std::string own = has_ended(why);
  return failure.empty() ? own : failure;
}

std::string CommandList::has_ended(const std::string& why) {
  if (filled_ && filled_->is_queued())
    filled_->set_done(why);
  for (Link& link : links_)
    if (link.what.id != 0)
      observe::end(link.what, why.empty() || Completions::of(memory_.rtl()).wait(link.native).empty(),
                   Completions::of(memory_.rtl()).ended_at(link.native));
  const std::string failure = why.empty() ? why : describe_failure(why);
  if (!why.empty() && std::any_of(links_.begin(), links_.end(), [&](const Link& link) {
        return Completions::of(memory_.rtl()).has_lost_device(link.native);
      }))
    memory_.took(OMPTARGET_RTL_DEVICE_LOST);
  for (const Link& link : std::exchange(links_, {}))
    if (!link.is_given)
      Completions::of(memory_.rtl()).release(link.native);
  if (!why.empty())
    failure_ = " (" + why + ")";
  return failure;
}

// The first operation that has failed: what depends on it has failed for that reason.
std::string CommandList::describe_failure(const std::string& why) const {
  const auto failed = std::find_if(links_.begin(), links_.end(), [&](const Link& link) {
    return !Completions::of(memory_.rtl()).wait(link.native).empty();
  });
  const Kind kind = failed == links_.end() ? Kind::kLaunch : failed->what.kind;
  char object[64] = "";
  if (failed != links_.end())
    std::snprintf(object, sizeof object, "the object at %p (%lld bytes)", failed->what.host,
                  static_cast<long long>(failed->what.size));
  if (kind == Kind::kToDevice)
    return std::string("copying ") + object + " to the device failed (" + why + ")";
  if (kind == Kind::kFromDevice)
    return std::string("copying back ") + object + " failed (" + why + ")";
  return "failed on device " + std::to_string(memory_.number()) + " (" + memory_.rtl().name() + ") with " + why;
}

} // namespace omptool
