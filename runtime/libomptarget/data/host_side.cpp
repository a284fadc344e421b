// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/host_side.h"

#include "data/table/row_ranges.h"
#include "process/message.h"

#include <algorithm>
#include <cstdio>
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
Mappings HostSide::named(Rows rows, std::span<const HostRange> globals, Lock& lock) {
  Mappings found;
  const auto add = [&](HostRange range) {
    for (Mapping* const mapping : table_.overlapping(range, lock))
      if (lock.touch(*mapping).state != Mapping::State::kVacant &&
          std::find(found.begin(), found.end(), mapping) == found.end())
        found.push_back(mapping);
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
    for (const auto& [cell, pointer] : found[i]->pointers())
      add({pointer.pointee, pointer.pointee + 1});
  return found;
}

// The same, once none of them is on its way in or out.
Mappings HostSide::named_and_ready(Rows rows, std::span<const HostRange> globals, Lock& lock) {
  for (;;) {
    Mappings found = named(rows, globals, lock);
    const auto unsettled = std::find_if(
        found.begin(), found.end(), [](const Mapping* mapping) { return mapping->state != Mapping::State::kReady; });
    if (unsettled == found.end())
      return found;
    lock.wait_for(**unsettled);
  }
}

// Waits for the copies that constructs have queued to and from these objects and what has been mapped there before.
void HostSide::wait_until_resolved(const Pins& objects, Rows rows) {
  std::vector<EventPtr> events;
  {
    Lock lock(table_);
    for (Mapping* const mapping : objects)
      if (lock.touch(*mapping).queued && mapping->details()->written)
        events.push_back(mapping->details()->written);
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
  Mappings all = named(rows, globals, lock);
  for (const Row& row : rows)
    if (const std::uintptr_t address = possible_device_address(row)) { // is_device_ptr, or a pointer to nothing mapped
      const Mappings there = table_.on_device(address, 1, lock);
      all.insert(all.end(), there.begin(), there.end());
      // use_device_ptr leaves the host's address of what the device did not take.
      if (Mapping* const host = table_.look_up_any({address, address + 1}, lock).mapping;
          host && lock.touch(*host).unusable)
        all.push_back(host);
    }
  for (Mapping* const mapping : all) {
    if (lock.touch(*mapping).state != Mapping::State::kReady || !(mapping->host_current || mapping->unusable))
      continue;
    held.lacks = held.lacks || mapping->unusable;
    if (mapping->queued && mapping->details()->written && !mapping->details()->written->is_done())
      commands.after(mapping->details()->written);
    held.stale.add(table_, *mapping, lock);
  }
}

std::string HostSide::make_device_current(Held& held, std::span<const HostRange> globals, CommandList& commands) {
  Pins stale = std::exchange(held.stale, {});
  {
    Lock lock(table_);
    const auto add = [&](Mapping* mapping) {
      if (mapping && lock.touch(*mapping).host_current)
        stale.add(table_, *mapping, lock);
    };
    for (Binding& binding : held.bound)
      for (RowObject* const one : binding.both())
        add(*one);
    for (const HostRange global : globals)
      for (Mapping* const mapping : table_.overlapping(global, lock))
        add(mapping);
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
    for (Mapping* const mapping : table_.on_device(reinterpret_cast<std::uintptr_t>(device), size, lock))
      if (mapping->state == Mapping::State::kReady)
        stale.add(table_, *mapping, lock);
  }
  wait_until_resolved(stale);
  return submit(stale);
}

// Nothing is queued for these objects.
std::string HostSide::submit(const Pins& stale) {
  const observe::Postponed postponed;
  const std::unique_lock moving = diverged_.lock();
  for (Mapping* const mapping : stale) {
    {
      const auto guard = table_.guard(*mapping);
      if (!mapping->host_current || !mapping->device || mapping->unusable)
        continue;
    }
    if (!diverged_.give_to_device(*mapping))
      return "the device did not take a copy of " + describe(*mapping) + memory_.last_error();
  }
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
  {
    Lock lock(table_);
    for (Mapping* const mapping : named_and_ready(rows, globals, lock))
      all.add(table_, *mapping, lock);
  }
  wait_until_resolved(all, rows);
  const HostFallback fallback = HostFallback::begin();
  for (Mapping* const mapping : all) {
    const observe::Postponed postponed;
    const std::unique_lock moving = diverged_.lock();
    if (!diverged_.give_to_host(*mapping, newer, fallback))
      die("region %s must run on the host, but copying %s from the device failed%s", region.c_str(),
          describe(*mapping).c_str(), memory_.last_error().c_str());
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
    const Lookup whole = row.size == 0 ? Lookup{} : table_.look_up(range_of(row), lock);
    Mapping* const found = row.size == 0                      ? table_.look_up_empty(row, lock)
                           : whole.overlap == Overlap::kWhole ? whole.mapping
                                                              : nullptr;
    if (!found || found->infinite || found->state != Mapping::State::kReady)
      continue;
    (row.has(kHold) ? found->holds : found->references) = 0;
    if (found->references != 0 || found->holds != 0)
      continue;
    table_.remove(*found, lock);
  }
}

bool HostSide::is_out_of_reach(std::uintptr_t address) {
  if (sharing_.any() || memory_.is_addressable())
    return false;
  if (allocations_.hold(address))
    return true;
  Lock lock(table_);
  return !table_.on_device(address, 1, lock).empty();
}

} // namespace omptool
