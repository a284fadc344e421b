// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/fallback.h"
#include "offload/offload.h"
#include "offload/pending.h"
#include "process/libomp.h"
#include "process/message.h"
#include "rtl/core_workers.h"

#include <memory>
#include <utility>
#include <vector>

namespace omptool {
namespace {

using Events = std::vector<EventPtr>;

void wait_for(const Events& events) {
  for (const EventPtr& event : events)
    event->wait();
}

void give_event(const Later& call, const EventPtr& event) {
  if (call.completion)
    *call.completion = outstanding::add_handle(event);
}

void take_event_back(const Later& call) {
  if (call.completion)
    outstanding::find_event(std::exchange(*call.completion, nullptr), true);
}

// Calls `then` when all are done: now, or on the thread that says it of the last.
void when_all_done(Events events, std::function<void()> then) {
  while (!events.empty() && events.back()->is_done())
    events.pop_back();
  if (events.empty()) {
    then();
    return;
  }
  const EventPtr last = events.back();
  last->when_done([events = std::move(events), then = std::move(then)] { when_all_done(events, then); });
}

// The event of a call that leaves nothing to be done once those have happened.
void complete_after(const Events& events, const Later& call) {
  const EventPtr own = std::make_shared<Event>();
  give_event(call, own);
  outstanding::begin();
  // On a worker: a chain of such calls must not be as deep as it is long.
  when_all_done(events, [own, callback = outstanding::callback_for(call.param)] {
    core_workers::finish([own, callback] {
      own->set_done();
      outstanding::end(callback);
    });
  });
}

// Finds the events that the call waits for, up to a faulty one. Where the call has no fault so far, `fault` becomes
// what is wrong with the array, or with that entry.
Events find_events(const Later& call, std::string& fault) {
  Events events;
  if (call.completion)
    *call.completion = nullptr;
  std::string found_fault;
  if (call.count < 0 || (call.count > 0 && !call.awaited))
    found_fault = "the call has " + std::to_string(call.count) + " dependences, but no array of them";
  for (std::int32_t i = 0; i < call.count && found_fault.empty(); ++i) {
    outstanding::Found found = outstanding::find_event(call.awaited[i]);
    if (!found.fault.empty())
      found_fault = "event " + found.fault;
    else if (found.event)
      events.push_back(std::move(found.event));
  }
  if (fault.empty())
    fault = std::move(found_fault);
  return events;
}

// The first names the stream (device-rtl-interface.tex).
void come_after(CommandList& commands, const Events& events, const Later& call) {
  const bool any_stream = call.count > 0 && call.awaited[0] && !events.empty();
  for (const EventPtr& event : events)
    commands.after(event, any_stream && event == events.front());
}

// The device that the call means. Null: several, the host, or one that cannot be used.
Device* one_device(std::int64_t device_id) {
  const bool is_one = device_id != kEveryDevice && device_id != kUsedDevices && !disabled();
  return is_one ? select(device_id).device : nullptr;
}

// Starts a construct whose operations follow. False, and why: it will not be done on the device, and nothing of it is
// left there.
bool start_later(const std::shared_ptr<Pending>& pending, const Events& events, const Later& call,
                 std::string& reason) {
  come_after(pending->commands(), events, call);
  bool goes = pending->place(reason);
  if (goes) {
    give_event(call, pending->commands().ended());
    goes = pending->go(reason);
  }
  if (!goes) {
    take_event_back(call);
    pending->abandon();
  }
  return goes;
}

// The call is over, with this result. 0: its event completes.
std::int32_t over(std::int32_t result, const Later& call) {
  if (result == 0)
    complete_after({}, call);
  return result;
}

} // namespace

std::int32_t run_region_later(std::int64_t asked, const void* host_address, Rows rows, const AskedShape& shape,
                              const Later& call, std::string fault) {
  const Events events = find_events(call, fault);
  if (!fault.empty()) {
    wait_for(events);
    return over(refuse_region(asked, host_address, rows, std::string(call.function) + ": " + fault), call);
  }
  Placement placement(asked, host_address, rows);
  Device* const device = one_device(placement.device_id());
  if (!device) {
    wait_for(events);
    return over(run_region(asked, host_address, rows, shape), call);
  }
  const std::shared_ptr<Kernel> kernel = Registry::current()->find_kernel(host_address);
  std::string reason;
  const Resolved there = Registry::current()->resolve(kernel.get(), *device, shape.environment, reason);
  if (there.function &&
      start_later(std::make_shared<Pending>(*device, std::move(placement), kernel, there, rows, shape, call.param),
                  events, call, reason))
    return 0;
  wait_for(events);
  return fall_back_from(*device, host_address, kernel.get(), rows, reason);
}

void data_later(Action action, std::int64_t device_id, Rows rows, const Later& call, std::string fault) {
  const Events events = find_events(call, fault);
  if (!fault.empty()) {
    say("%s: %s; the call is ignored", call.function, fault.c_str());
    return complete_after(events, call);
  }
  if (Device* const device = one_device(device_id)) {
    std::string none; // it has no host version, and goes in any case
    start_later(std::make_shared<Pending>(action, *device, rows, call.param), events, call, none);
    return;
  }
  if (device_id != kEveryDevice && device_id != kUsedDevices && !mandatory())
    return complete_after(events, call);
  wait_for(events);
  run_data(action, device_id, rows);
  complete_after({}, call);
}

bool enforces(const char* function, std::int32_t from, std::int32_t to, tgt_event_t event) {
  if (const outstanding::Found found = outstanding::find_event(event); !found.fault.empty()) {
    say("%s: event %s; the program has to order the calls after it", function, found.fault.c_str());
    return false;
  }
  const auto works = [](std::int32_t number) {
    return prepared_device(static_cast<int>(device_number(number))) != nullptr;
  };
  return works(from) && works(to);
}

void release_event(const char* function, tgt_event_t event) {
  if (const outstanding::Found found = outstanding::find_event(event, true); !found.fault.empty())
    say("%s: event %s; the call is ignored", function, found.fault.c_str());
}

} // namespace omptool
