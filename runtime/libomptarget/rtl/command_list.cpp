// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/command_list.h"

#include "rtl/completions.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace omptool {
using Kind = observe::Operation::Kind;

void CommandList::end() {
  if (last())
    wait();
  set_ended();
}

void CommandList::after(EventPtr event) {
  Chain& own = chain();
  const bool known = std::find(own.awaited.begin(), own.awaited.end(), event) != own.awaited.end();
  if (!known && event != own.filled && event != own.ended)
    own.awaited.push_back(std::move(event));
}

void CommandList::in_stream_of(const EventPtr& event) {
  chain().stream = event;
  after(event);
}

const void* CommandList::keep(const void* bytes, std::size_t size) {
  if (!memory_.chains() && use_ == Use::kNow)
    return bytes;
  const auto* const first = static_cast<const std::byte*>(bytes);
  return chain().kept.emplace_back(first, first + size).data();
}

// ---- operations ----

bool CommandList::submit_in_order(void* device, const void* host, std::int64_t size) {
  if (memory_.chains())
    return link({Kind::kToDevice, memory_.number(), host, device, size}, [&](auto... chained) {
             return memory_.call().async_data_submit(memory_.rtl_id(), device, const_cast<void*>(host), size,
                                                     chained...);
           }) == 0;
  return wait_for_others() && done(memory_.submit(device, host, size));
}

bool CommandList::retrieve_in_order(void* host, const void* device, std::int64_t size) {
  if (memory_.chains())
    return link({Kind::kFromDevice, memory_.number(), host, device, size}, [&](auto... chained) {
             return memory_.call().async_data_retrieve(memory_.rtl_id(), host, const_cast<void*>(device), size,
                                                       chained...);
           }) == 0;
  return wait_for_others() && done(memory_.retrieve(host, device, size));
}

bool CommandList::fill(void* device, int value, std::int64_t size) {
  if (memory_.chains() && memory_.call().async_data_fill) {
    const std::int32_t result = link({Kind::kFill, memory_.number(), nullptr, device, size}, [&](auto... chained) {
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
        link({Kind::kBetweenDevices, memory_.number(), source, device, size, {}, 0, 0, nullptr, 0, other.number()},
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
  return wait_for_others() && wait().empty() && done(work());
}

std::int32_t CommandList::run_in_order(void* function, void** arguments, std::int32_t count, const AskedShape& shape,
                                       Passing how, const std::string& name) {
  observe::Operation reported = launch_of(function, name);
  if (memory_.chains()) // a queued kernel that the plugin has not taken has not begun
    return link(std::move(reported),
                [&](auto... chained) {
                  return queue_in_shape(memory_.call(), memory_.rtl_id(), function, arguments, count,
                                        with_environment(shape.whole(), how), chained...);
                }) == 0
               ? 0
               : OMPTARGET_RTL_NOT_STARTED;
  if (!wait_for_others() || !is_there())
    return OMPTARGET_RTL_NOT_STARTED;
  if (observe::heard()) [[unlikely]]
    reported = observe::begin(std::move(reported));
  const std::int32_t result = run_now(function, arguments, count, shape, how);
  observe::end(reported, result == 0);
  return result;
}

observe::Operation CommandList::launch_of(void* function, const std::string& name) const {
  observe::Operation launch{Kind::kLaunch, memory_.number(), nullptr, function, 0, name};
  launch.is_later = use_ == Use::kLater;
  launch.shape_is_plugins = observe::heard() && takes_compilers_shapes(memory_.call(), memory_.rtl_id());
  return launch;
}

// Adds an operation that comes after all before it. `call` is given what the plugin's functions end with.
template <typename Call> std::int32_t CommandList::link(observe::Operation reported, const Call& call) {
  Chain& own = chain();
  const std::vector<EventPtr> behind = std::exchange(own.awaited, {}); // whose natives live until the call has returned
  own.behind.insert(own.behind.end(), behind.begin(), behind.end());
  std::vector<tgt_event_t> dependences;
  if (!collect(behind, dependences) || !is_there())
    return 1; // no other way is to be tried
  if (observe::heard()) [[unlikely]]
    reported = tell(std::move(reported));
  Completions::of(memory_.rtl()); // before its first operation
  tgt_event_t native = nullptr;
  const std::int32_t result = call(static_cast<std::int32_t>(dependences.size()), dependences.data(), &native);
  if (!memory_.took(result) || !native) {
    chain_->failure = result != 0 ? memory_.last_error() : " (the plugin gave no event)";
    observe::end(reported, false);
    return result != 0 ? result : 1;
  }
  own.links.push_back({native, false, std::move(reported)});
  return 0;
}

observe::Operation CommandList::tell(observe::Operation operation) {
  Chain& own = chain();
  if (own.number == 0)
    own.number = observe::next_queue();
  operation.queue = own.number;
  return observe::begin(std::move(operation));
}

// Collects the events that the next operation comes after, first the one whose stream it joins. Returns false if an
// operation behind one of them has failed.
bool CommandList::collect(const std::vector<EventPtr>& behind, std::vector<tgt_event_t>& dependences) {
  dependences.push_back(last());
  for (const EventPtr& event : behind) {
    event->wait_queued();                                  // as long as its own thread needs to hand it over
    const bool joins = event == chain_->stream && !last(); // behind what the stream has got since, even if it is done
    const bool follows = (joins || !event->is_done()) && event->can_follow(memory_.rtl(), memory_.rtl_id());
    if (follows && joins)
      dependences.front() = event->native();
    else if (follows)
      dependences.push_back(event->native());
    const std::string why = follows && !event->is_done() ? std::string() : event->wait_for_operations();
    if (!why.empty()) {
      chain_->failure = " (" + why + ")";
      return false;
    }
  }
  return true;
}

// The same where operations are done at once.
bool CommandList::wait_for_others() {
  if (!has_to_wait())
    return true;
  for (const EventPtr& event : std::exchange(chain_->awaited, {}))
    if (const std::string why = event->wait_for_operations(); !why.empty()) {
      chain_->failure = " (" + why + ")";
      return false;
    }
  return true;
}

// ---- what others see ----

const EventPtr& CommandList::filled() {
  EventPtr& own = chain().filled;
  if (!own)
    own = std::make_shared<Event>(&memory_.rtl(), memory_.rtl_id(), Event::Kind::kFilled);
  return own;
}

const EventPtr& CommandList::ended() {
  EventPtr& own = chain().ended;
  if (!own)
    own = std::make_shared<Event>(&memory_.rtl(), memory_.rtl_id());
  return own;
}

// An operation of no effect, which comes after what has yet to be waited for, too.
void CommandList::join() {
  if (link({Kind::kJoin, memory_.number(), nullptr, nullptr},
           [&](auto... chained) { return memory_.call().async_dep(memory_.rtl_id(), chained...); }) != 0)
    chain_->unsaid = wait();
}

// Gives the event what follows the queue as it is now.
void CommandList::hand_over(Event& event) {
  if (has_to_wait() && !memory_.chains())
    wait_for_others();
  if (has_to_wait() || (last() && chain_->links.back().is_given))
    join();
  if (!last()) {
    event.set_done(chain_->unsaid);
    return;
  }
  chain_->links.back().is_given = true;
  event.set_handed_over(last());
}

void CommandList::tell_filled(const std::string& failure) {
  if (!chain_->filled || chain_->filled->is_queued())
    return;
  const std::string& own = chain_->failure;
  if (failure.empty() && own.empty())
    hand_over(*chain_->filled);
  else if (!failure.empty())
    chain_->filled->set_done(failure);
  else
    chain_->filled->set_done(own.starts_with(" (") ? own.substr(2, own.size() - 3) : own);
}

void CommandList::hand_over_events() {
  tell_filled({});
  if (chain_->ended && !chain_->ended->is_queued() && memory_.chains())
    hand_over(*chain_->ended);
}

void CommandList::end_events(const std::string& failure) {
  for (const EventPtr& event : {chain_->filled, chain_->ended})
    if (event)
      event->set_done(failure);
}

std::string CommandList::wait_for_links() {
  std::string failure = std::exchange(chain_->unsaid, {});
  if (!wait_for_others() && failure.empty()) // none of the operations came after that
    failure = "an operation before it failed" + chain_->failure;
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

std::string CommandList::failure_of_others() const {
  for (const EventPtr& event : chain_ ? chain_->behind : std::vector<EventPtr>())
    if (!event->wait_for_operations().empty()) {
      event->wait(); // what it leaves unusable is known then
      return event->failure();
    }
  return {};
}

// There is a chain, whose end somebody has seen. set_failed() makes the objects of a failed copy unusable before others
// hear of it.
std::string CommandList::has_ended(const std::string& why) {
  Chain& own = chain();
  if (why.empty() && own.filled && own.filled->is_queued())
    own.filled->set_done();
  for (Link& one : own.links)
    if (one.what.id != 0)
      observe::end(one.what, why.empty() || Completions::of(memory_.rtl()).wait(one.native).empty(),
                   Completions::of(memory_.rtl()).ended_at(one.native));
  const std::string failure = why.empty() ? why : describe_failure(why);
  if (!why.empty() && std::any_of(own.links.begin(), own.links.end(), [&](const Link& one) {
        return Completions::of(memory_.rtl()).has_lost_device(one.native);
      }))
    memory_.took(OMPTARGET_RTL_DEVICE_LOST);
  for (const Link& one : std::exchange(own.links, {}))
    if (!one.is_given)
      Completions::of(memory_.rtl()).release(one.native);
  if (!why.empty())
    chain_->failure = " (" + why + ")";
  return failure;
}

// The first operation that has failed: what depends on it has failed for that reason.
std::string CommandList::describe_failure(const std::string& why) const {
  const auto failed = std::find_if(chain_->links.begin(), chain_->links.end(), [&](const Link& one) {
    return !Completions::of(memory_.rtl()).wait(one.native).empty();
  });
  const Kind kind = failed == chain_->links.end() ? Kind::kLaunch : failed->what.kind;
  char object[64] = "";
  if (failed != chain_->links.end())
    std::snprintf(object, sizeof object, "the object at %p (%lld bytes)", failed->what.host,
                  static_cast<long long>(failed->what.size));
  if (kind == Kind::kToDevice)
    return std::string("copying ") + object + " to the device failed (" + why + ")";
  if (kind == Kind::kFromDevice)
    return std::string("copying back ") + object + " failed (" + why + ")";
  return "failed on device " + std::to_string(memory_.number()) + " (" + memory_.rtl().name() + ") with " + why;
}

} // namespace omptool
