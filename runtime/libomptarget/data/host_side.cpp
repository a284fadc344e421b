// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/host_side.h"

#include "data/table/row_ranges.h"
#include "process/message.h"

#include <algorithm>
#include <cstdio>
#include <unordered_set>
#include <utility>

namespace omptool {
namespace {

// The address that a row hands to the kernel as it is, or 0. It may be the device's, a host address, or no
// address at all.
std::uintptr_t possible_device_address(const Row& row) {
  constexpr std::uintptr_t kLowest = 4096; // nothing is mapped below
  const void* const given = row.has(kValue) ? row.base : row.maps() && row.size == 0 ? empty_section(row) : nullptr;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(given);
  return address >= kLowest ? address : 0;
}

HostRange place_named_by(const Row& row) {
  return row.size > 0 ? range_of(row) : HostRange::of(empty_section(row), 1);
}

} // namespace

// The present objects that rows and globals name, and what their attached pointers lead to.
Objects HostSide::named(Rows rows, std::span<const HostRange> globals, Lock& lock) {
  Objects found;
  std::unordered_set<const Object*> known;
  const auto add = [&](HostRange range) {
    for (Object* const object : table_.overlapping(range, lock))
      if (object->state() != Object::State::kVacant && known.insert(object).second)
        found.push_back(object);
  };
  for (const Row& row : rows) {
    if (!row.maps())
      continue;
    if (row.has(kPointer))
      add(cell_of(row));
    add(place_named_by(row));
  }
  for (const HostRange global : globals)
    add(global);
  for (std::size_t i = 0; i < found.size(); ++i) // grows while it runs
    for (const std::uintptr_t pointee : found[i]->pointees())
      add({pointee, pointee + 1});
  return found;
}

// Pins the same, once none of them is on its way in or out.
void HostSide::pin_named(Rows rows, std::span<const HostRange> globals, Pins& all) {
  Lock lock(table_);
  for (Object* unsettled = nullptr;;) {
    for (Object* const object : named(rows, globals, lock)) {
      const Object::State state = object->pin();
      if (state == Object::State::kFilling || state == Object::State::kPresent)
        all.add(table_, *object);
      if (state != Object::State::kPresent) {
        unsettled = object;
        break;
      }
    }
    if (!unsettled)
      return;
    all.clear();
    table_.wait_for(*std::exchange(unsettled, nullptr), lock);
  }
}

// Waits for the copies that constructs have queued to and from these objects and what has been mapped there before.
void HostSide::wait_until_resolved(const Pins& objects, Rows rows) {
  std::vector<EventPtr> events;
  {
    Lock lock(table_);
    for (const Object* const object : objects)
      if (EventPtr written = object->last_write())
        events.push_back(std::move(written));
    for (const Row& row : rows)
      if (row.maps())
        for (EventPtr& ended : table_.departures(place_named_by(row), lock))
          events.push_back(std::move(ended));
  }
  for (const EventPtr& event : events)
    event->wait_for_operations();
}

void HostSide::note_stale(Rows rows, std::span<const HostRange> globals, Held& held, CommandList& commands,
                          Lock& lock) {
  Objects all = named(rows, globals, lock);
  for (const Row& row : rows)
    if (const std::uintptr_t address = possible_device_address(row)) { // is_device_ptr, or a pointer to nothing mapped
      const Objects there = table_.by_device_address(address, 1, lock);
      all.insert(all.end(), there.begin(), there.end());
      // use_device_ptr leaves the host's address of what the device did not take.
      for (Object* const host : table_.overlapping({address, address + 1}, lock))
        if (host->is_unusable())
          all.push_back(host);
    }
  for (Object* const object : all) {
    bool is_usable = true;
    EventPtr written;
    if (!object->pin_stale(is_usable, written))
      continue;
    held.lacks = held.lacks || !is_usable;
    if (written)
      commands.after(std::move(written));
    held.stale.add(table_, *object);
  }
}

std::string HostSide::make_device_current(Held& held, std::span<const HostRange> globals, CommandList& commands) {
  Pins stale = std::exchange(held.stale, {});
  {
    Lock lock(table_);
    const auto add = [&](Object* object) {
      if (object && object->pin_newer_on_host())
        stale.add(table_, *object);
    };
    for (Binding& binding : held.bound)
      for (RowObject* const one : binding.both())
        add(*one);
    for (const HostRange global : globals)
      for (Object* const object : table_.overlapping(global, lock))
        add(object);
  }
  if (stale.empty())
    return {};
  const std::string failure = commands.wait(); // what follows is done at once
  return failure.empty() ? submit(stale) : failure;
}

std::string HostSide::make_device_current(const void* device, std::size_t size) {
  HostFallback::end();
  if (!table_.any_host_current())
    return {};
  Pins stale;
  {
    Lock lock(table_);
    for (Object* const object : table_.by_device_address(reinterpret_cast<std::uintptr_t>(device), size, lock)) {
      const Object::State state = object->pin();
      if (state == Object::State::kPresent)
        stale.add(table_, *object);
      else if (state == Object::State::kFilling)
        table_.unpin(*object, lock);
    }
  }
  wait_until_resolved(stale);
  return submit(stale);
}

// Nothing is queued for these objects.
std::string HostSide::submit(const Pins& stale) {
  const observe::Postponed postponed;
  const std::unique_lock moving = diverged_.lock();
  for (Object* const object : stale)
    if (object->needs_device_copy() && !diverged_.give_to_device(*object))
      return "the device did not take a copy of " + describe(*object) + memory_.last_error();
  return {};
}

// A region that falls back uses the memory whose device address it is given where it is. Only the program knows what is
// an address: a number is no reason to end it (decision 28). Returns the doubts that the user should read, or "".
std::string HostSide::keep_on_device(Rows rows) {
  std::string doubts;
  int argument = -1; // rows of members follow it
  for (const Row& row : rows) {
    argument += row.has(kArgument) ? 1 : 0;
    const std::uintptr_t address = possible_device_address(row);
    if (!address)
      continue;
    std::string why = "which the host cannot use";
    if (!is_out_of_reach(address)) {
      why = make_device_current(reinterpret_cast<const void*>(address), 1);
      if (why.empty())
        continue;
      why.insert(0, "but ");
    }
    char text[96];
    std::snprintf(text, sizeof text, "%sits argument %d may %s memory of the device (%p), ", doubts.empty() ? "" : "; ",
                  std::max(argument, 0), row.has(kArgument) ? "be" : "lead to", reinterpret_cast<void*>(address));
    doubts += text + why;
  }
  return doubts;
}

std::string HostSide::make_host_current(Rows rows, std::span<const HostRange> globals, const std::string& region) {
  std::string doubts = keep_on_device(rows);
  // The host's side is newer of all that the region would have copied to the device in any case.
  std::vector<HostRange> newer;
  for (const Row& row : rows)
    if (row.maps() && row.has(kTo | kAlways) && row.size > 0)
      newer.push_back(range_of(row));
  Pins all;
  pin_named(rows, globals, all);
  wait_until_resolved(all, rows);
  const HostFallback fallback = HostFallback::begin();
  for (Object* const object : all) {
    const observe::Postponed postponed;
    const std::unique_lock moving = diverged_.lock();
    if (!diverged_.give_to_host(*object, newer, fallback))
      die("region %s must run on the host, but copying %s from the device failed%s", region.c_str(),
          describe(*object).c_str(), memory_.last_error().c_str());
  }
  all = {};
  forget_deleted(rows);
  return doubts;
}

void HostSide::forget_deleted(Rows rows) {
  Lock lock(table_);
  for (const Row& row : rows) {
    if (!row.maps() || !row.has(kDelete) || (row.size == 0 && !row.any(kCounts | kPointer)))
      continue;
    Answer found;
    while ((found = row.size == 0 ? table_.find_section(empty_section(row), row.has(kSection), lock)
                                  : table_.find(range_of(row), lock))
               .is(Answer::Kind::kLeaving))
      table_.wait_for(*found.object, lock);
    if (!found.is(Answer::Kind::kPresent))
      continue;
    if (found.object->remove_counts(row.has(kHold) ? Count::kHold : Count::kReference))
      table_.erase(*found.object, lock);
    table_.unpin(*found.object, lock);
  }
}

bool HostSide::is_out_of_reach(std::uintptr_t address) {
  if (sharing_.any() || memory_.is_addressable())
    return false;
  if (allocations_.hold(address))
    return true;
  Lock lock(table_);
  return !table_.by_device_address(address, 1, lock).empty();
}

} // namespace omptool
