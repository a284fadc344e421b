// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/fallback.h"

#include "data/table/row_ranges.h"
#include "process/message.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
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

// Finds every object whose device memory shares a byte with the range; looks at all of them.
Objects by_device_address(const PresentTable& table, std::uintptr_t begin, std::size_t size, PresentTable::Lock& lock) {
  Objects found = table.overlapping({0, UINTPTR_MAX}, lock);
  std::erase_if(found, [&](const Object* object) {
    const std::uintptr_t there = reinterpret_cast<std::uintptr_t>(object->device());
    const std::uintptr_t own_size = object->host().end - object->host().begin;
    // Differences: a sum of an address and a size may overflow.
    return !there || (there <= begin ? begin - there >= own_size : there - begin >= size);
  });
  return found;
}

// Returns the pieces of the range that hold the same on both sides when nothing is amiss.
std::vector<HostRange> shared_pieces(const Object& object, HostRange within) {
  std::vector<HostRange> all;
  for (const HostRange part : object.parts())
    for (const HostRange piece : Transfers::without_pointers(object, common(part, within), {}))
      if (piece.size() > 0)
        all.push_back(piece);
  return all;
}

} // namespace

// ---- which objects ----

// The present objects that rows and globals name, and what their attached pointers lead to.
Objects Fallback::named(Rows rows, std::span<const HostRange> globals, Lock& lock) {
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
void Fallback::pin_named(Rows rows, std::span<const HostRange> globals, Pins& all) {
  Lock lock(table_);
  for (Object* blocking = nullptr;;) {
    for (Object* const object : named(rows, globals, lock)) {
      const Object::State state = object->pin();
      if (state == Object::State::kFilling || state == Object::State::kPresent)
        all.add(table_, *object);
      if (state != Object::State::kPresent) {
        blocking = object;
        break;
      }
    }
    if (!blocking)
      return;
    all.clear();
    lock.wait_for(*std::exchange(blocking, nullptr));
  }
}

// Waits for the copies that constructs have queued to and from these objects and what has been mapped there before.
void Fallback::wait_until_resolved(const Pins& objects, Rows rows) {
  std::vector<EventPtr> events;
  {
    Lock lock(table_);
    for (const Object* const object : objects)
      if (EventPtr written = object->last_write())
        events.push_back(std::move(written));
    for (const Row& row : rows)
      if (row.maps())
        for (EventPtr& ended : table_.departures(lock).pending(place_named_by(row)))
          events.push_back(std::move(ended));
  }
  for (const EventPtr& event : events)
    event->wait_for_operations();
}

void Fallback::note_stale(Rows rows, std::span<const HostRange> globals, MappedArguments& mapped, CommandList& commands,
                          Lock& lock) {
  Objects all = named(rows, globals, lock);
  for (const Row& row : rows)
    if (const std::uintptr_t address = possible_device_address(row)) { // is_device_ptr, or a pointer to nothing mapped
      const Objects there = by_device_address(table_, address, 1, lock);
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
    mapped.lacks = mapped.lacks || !is_usable;
    if (written)
      commands.after(std::move(written));
    mapped.stale.add(table_, *object);
  }
}

std::string Fallback::to_device(MappedArguments& mapped, std::span<const HostRange> globals, CommandList& commands) {
  Pins stale = std::exchange(mapped.stale, {});
  {
    Lock lock(table_);
    const auto add = [&](Object* object) {
      if (object && object->pin_newer_on_host())
        stale.add(table_, *object);
    };
    for (Argument& argument : mapped.arguments)
      for (ArgumentObject* const one : argument.both())
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

std::string Fallback::to_device(const void* device, std::size_t size) {
  HostFallback::end();
  if (!table_.any_host_current())
    return {};
  Pins stale;
  {
    Lock lock(table_);
    for (Object* const object : by_device_address(table_, reinterpret_cast<std::uintptr_t>(device), size, lock)) {
      const Object::State state = object->pin();
      if (state == Object::State::kPresent)
        stale.add(table_, *object);
      else if (state == Object::State::kFilling)
        lock.unpin(*object);
    }
  }
  wait_until_resolved(stale);
  return submit(stale);
}

// Nothing is queued for these objects.
std::string Fallback::submit(const Pins& stale) {
  const observe::Postponed postponed;
  const std::lock_guard moving(moving_);
  for (Object* const object : stale)
    if (object->needs_device_copy() && !give_to_device(*object))
      return "the device did not take a copy of " + describe(*object) + memory_.last_error();
  return {};
}

// A region that falls back uses the memory whose device address it is given where it is. Only the program knows what is
// an address: a number is no reason to end it (decision 28). Returns the doubts that the user should read, or "".
std::string Fallback::keep_on_device(Rows rows) {
  std::string doubts;
  int argument = -1; // rows of members follow it
  for (const Row& row : rows) {
    argument += row.has(kArgument) ? 1 : 0;
    const std::uintptr_t address = possible_device_address(row);
    if (!address)
      continue;
    std::string why = "which the host cannot use";
    if (!is_out_of_reach(address)) {
      why = to_device(reinterpret_cast<const void*>(address), 1);
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

std::string Fallback::to_host(Rows rows, std::span<const HostRange> globals, const std::string& region) {
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
    const std::lock_guard moving(moving_);
    if (!give_to_host(*object, newer, fallback))
      die("region %s must run on the host, but copying %s from the device failed%s", region.c_str(),
          describe(*object).c_str(), memory_.last_error().c_str());
  }
  all = {};
  forget_deleted(rows);
  return doubts;
}

void Fallback::forget_deleted(Rows rows) {
  Lock lock(table_);
  for (const Row& row : rows) {
    if (!row.maps() || !row.has(kDelete) || (row.size == 0 && !row.any(kCounts | kPointer)))
      continue;
    Answer found;
    while ((found = row.size == 0 ? table_.find_section(empty_section(row), row.has(kSection), lock)
                                  : table_.find(range_of(row), lock))
               .is(Answer::Kind::kLeaving))
      lock.wait_for(*found.object);
    if (!found.is(Answer::Kind::kPresent))
      continue;
    if (found.object->remove_counts(row.has(kHold) ? Count::kHold : Count::kReference))
      table_.erase(*found.object, lock);
    lock.unpin(*found.object);
  }
}

bool Fallback::is_out_of_reach(std::uintptr_t address) {
  if (sharing_.any() || memory_.is_addressable())
    return false;
  if (allocations_.hold(address))
    return true;
  Lock lock(table_);
  return !by_device_address(table_, address, 1, lock).empty();
}

// ---- diverged copies ----

// Takes the host's bytes in these ranges for the newer ones.
bool Fallback::let_host_win(Object& object, std::span<const HostRange> ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [&](HostRange range) {
    const std::vector<HostRange> pieces = shared_pieces(object, range);
    return std::all_of(pieces.begin(), pieces.end(), [&](HostRange piece) {
      std::byte* const before = object.diverged()->before.data() + (piece.begin - object.host().begin);
      return memory_.retrieve(before, object.at(piece.begin), piece.size());
    });
  });
}

// The host gets what the device has, but for `newer`; from now on the host version changes it there.
bool Fallback::give_to_host(Object& object, std::span<const HostRange> newer, const HostFallback& fallback) {
  if (object.diverged() && !object.diverged()->before.empty()) {
    if (!let_host_win(object, newer) || !merge_copies(object, object.host(), Toward::kHost))
      return false;
  } else if (!object.diverged()) {
    bool can_diverge = false;
    // A launch that is not seen here sees the object as the host's (data/table/activity.h), and waits for the turn that
    // the caller has.
    const bool current = object.become_host_current(activity_, can_diverge);
    if (!current && !transfers_.copy_whole(Direction::kToHost, object, newer))
      return false;
    if (can_diverge)
      object.diverge();
    if (can_diverge && !current) { // both sides have the same now, but for what is newer
      const auto* const here = static_cast<const std::byte*>(object.host().address());
      object.diverged()->before.assign(here, here + object.host().size());
      if (!let_host_win(object, newer))
        return false;
    }
  }
  if (object.diverged()) {
    std::erase_if(object.diverged()->running, [](const HostFallback& one) { return one.is_over(); });
    object.diverged()->running.push_back(fallback);
  }
  object.mark(true);
  return true;
}

// The device gets what the host versions have written so far. Later writes of those that still run go there with the
// next region that needs them.
bool Fallback::give_to_device(Object& object) {
  Diverged* const diverged = object.diverged();
  if (diverged) // asked before the copy: what has been written by then is copied
    std::erase_if(diverged->running, [](const HostFallback& fallback) { return fallback.is_over(); });
  const bool given = !diverged                  ? transfers_.copy_whole(Direction::kToDevice, object, {})
                     : diverged->before.empty() ? fill_all(object)
                                                : merge_copies(object, object.host(), Toward::kBoth);
  if (!given)
    return false;
  object.meet(!diverged || diverged->running.empty());
  return true;
}

// The device, which holds nothing yet, gets it all.
bool Fallback::fill_all(Object& object) {
  const auto* const here = static_cast<const std::byte*>(object.host().address());
  std::vector<std::byte> now(here, here + object.host().size()); // a host version may be changing it
  for (const HostRange piece : shared_pieces(object, object.host()))
    if (!memory_.submit(object.at(piece.begin), now.data() + (piece.begin - object.host().begin), piece.size()))
      return false;
  object.diverged()->before = std::move(now);
  return true;
}

// Copies where the host may have the newer side.
bool Fallback::copy_diverged(Direction direction, Object& object, HostRange range, CommandList& commands) {
  if (object.is_newer_on_host()) {
    if (!commands.wait().empty()) // what follows is done at once
      return false;
    const observe::Postponed postponed;
    const std::lock_guard moving(moving_);
    const bool to_host = direction == Direction::kToHost;
    if (object.diverged() && !object.diverged()->before.empty())
      return to_host ? merge_copies(object, range, Toward::kHost)
                     : let_host_win(object, {&range, 1}) && merge_copies(object, range, Toward::kBoth);
    if (to_host && (object.diverged() || object.is_newer_on_host()))
      return true;
  }
  return transfers_.copy(direction, object, range, commands);
}

// Each side, or the host alone, gets what the other has changed.
bool Fallback::merge_copies(Object& object, HostRange within, Toward toward) {
  constexpr std::uintptr_t kAtOnce = 1U << 16;
  std::vector<std::byte> room(2 * std::min<std::size_t>(kAtOnce, static_cast<std::size_t>(object.host().size())));
  for (const HostRange piece : shared_pieces(object, within))
    for (std::uintptr_t at = piece.begin; at < piece.end; at += kAtOnce)
      if (!merge(object, {at, std::min(at + kAtOnce, piece.end)}, toward, room))
        return false;
  return true;
}

// Merges as many bytes as there is room for on both sides.
bool Fallback::merge(Object& object, HostRange piece, Toward toward, std::span<std::byte> room) {
  const std::size_t size = static_cast<std::size_t>(piece.size());
  auto* const host = static_cast<std::byte*>(piece.address());
  std::byte* const before = object.diverged()->before.data() + (piece.begin - object.host().begin);
  const std::span there = room.first(size), here = room.last(size);
  if (!memory_.retrieve(there.data(), object.at(piece.begin), piece.size()))
    return false;
  std::memcpy(here.data(), host, size); // a host version may be changing it
  if (std::memcmp(there.data(), before, size) == 0 && std::memcmp(here.data(), before, size) == 0)
    return true;
  for (std::size_t i = 0; i < size; ++i) {
    if (there[i] != before[i]) {
      host[i] = before[i] = there[i];
      continue;
    }
    std::size_t newer = i; // a run of bytes that only the host has changed
    while (toward == Toward::kBoth && newer < size && there[newer] == before[newer] && here[newer] != before[newer])
      ++newer;
    if (newer == i)
      continue;
    if (!memory_.submit(object.at(piece.begin + i), here.data() + i, static_cast<std::int64_t>(newer - i)))
      return false;
    std::copy(here.begin() + static_cast<std::ptrdiff_t>(i), here.begin() + static_cast<std::ptrdiff_t>(newer),
              before + i);
    i = newer - 1;
  }
  return true;
}

} // namespace omptool
