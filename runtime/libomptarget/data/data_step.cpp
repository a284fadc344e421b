// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/data_step.h"

#include "data/table/row_ranges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace omptool {
namespace {

// These fill in what they describe where it is: a copy would wait for what has just been written.
void describe(const RowObject& object, PresentTable::Lock& lock, std::optional<observe::ObjectSeen>& there) {
  if (!object || object->is_in_place())
    return;
  const Mapping& mapping = lock.touch(*object);
  observe::ObjectSeen& seen = there.emplace();
  seen.host = mapping.host;
  seen.device = mapping.device;
  seen.padding = mapping.padding;
  seen.references = mapping.references;
  seen.holds = mapping.holds;
  seen.infinite = mapping.infinite;
  seen.fresh = object.fresh;
  seen.leaving = mapping.state == Mapping::State::kLeaving || mapping.state == Mapping::State::kGone;
}

void describe(const Row& row, const Binding& binding, observe::RowsSeen::Kind kind, PresentTable::Lock& lock,
              observe::RowSeen& seen) {
  seen.base = row.base;
  seen.begin = row.begin;
  seen.size = row.size;
  seen.flags = row.flags;
  seen.is_map = row.maps();
  seen.is_to = row.has(kTo);
  seen.is_from = row.has(kFrom);
  seen.is_delete = row.has(kDelete);
  seen.is_implicit = row.has(kImplicit);
  seen.is_pointer = row.any(kPointer | kAttach);
  seen.is_value = row.has(kValue);
  seen.is_returned = row.has(kReturn);
  seen.is_always = row.has(kAlways);
  if (kind == observe::RowsSeen::Kind::kMapped && row.maps())
    seen.pointer = binding.pointer;
  describe(binding.object, lock, seen.object);
  describe(binding.cell, lock, seen.cell);
}

// Tells if the row names a global variable that lives on the device for good, so that the construct copies nothing.
// The caller holds the lock of its shard.
bool copies_no_global(const Row& row, const RowObject& object) {
  constexpr std::uint32_t kCopied = kAlways | kImplicit | kPointer;
  const bool is_pending = object && object->queued && object->details()->written &&
                          !object->details()->written->is_done(); // what the device has will change
  return object && !is_pending && !object.fresh && object->infinite && object->is_named() && !object->own_value &&
         !object->unusable && object->pointers().empty() && row.maps() && row.has(kTo) && !row.any(kCopied) &&
         row.size > 0 && object->host.contains(range_of(row));
}

// Fills in where the bytes differ; resets a `difference` where they do not, or cannot be read.
void compare(const Row& row, const Mapping& global, const DeviceMemory& memory,
             std::optional<observe::Difference>& difference) {
  constexpr std::int64_t kMost = 1 << 16; // bytes
  const std::int64_t size = std::min(row.size, kMost);
  std::vector<std::byte> there(static_cast<std::size_t>(size));
  const observe::Unheard unheard;
  const std::span<const std::byte> here(static_cast<const std::byte*>(row.begin), there.size());
  const bool is_read = memory.retrieve(there.data(), global.at(range_of(row).begin), size);
  const auto at = static_cast<std::size_t>(std::mismatch(here.begin(), here.end(), there.begin(), there.end()).first -
                                           here.begin());
  if (!is_read || at == there.size())
    return difference.reset();
  const bool is_number = std::has_single_bit(there.size()) && there.size() <= sizeof(std::uint64_t);
  difference->offset = is_number ? 0 : static_cast<std::int64_t>(at);
  difference->size = is_number ? there.size() : 1;
  difference->variable = global.name();
  std::memcpy(&difference->host, here.data() + difference->offset, difference->size);
  std::memcpy(&difference->device, there.data() + difference->offset, difference->size);
}

} // namespace

// ---- order ----

void DataStep::queue_behind(Held& held, CommandList& commands, Lock& lock) {
  for (Binding& binding : held.bound)
    for (const RowObject* const one : binding.both()) {
      if (*one && lock.touch(**one).queued && !forget_if_over(**one, lock))
        if (const EventPtr& written = (*one)->details()->written; written && !written->is_done())
          commands.after(written);
      if (one->fresh)
        for (EventPtr& ended : table_.departures((*one)->host, lock))
          commands.after(std::move(ended));
    }
  held.leaves_events = commands.leaves_events();
}

// Forgets the object's events if all have ended, so that exact matches find it again. The caller holds its shard's
// lock.
bool DataStep::forget_if_over(Mapping& mapping, Lock& lock) {
  Mapping::Details& details = mapping.make_details();
  const auto is_over = [](const EventPtr& event) { return !event || event->is_done(); };
  if (!is_over(details.written) || !std::all_of(details.users.begin(), details.users.end(), is_over))
    return false;
  lock.give_up(std::move(details.written));
  for (EventPtr& user : details.users)
    lock.give_up(std::move(user));
  details.users.clear();
  mapping.queued = false;
  return true;
}

void DataStep::leave_event(Mapping& mapping, bool transfers, bool uses, CommandList& commands, Lock& lock) {
  if (lock.touch(mapping).state == Mapping::State::kGone) // the construct has it depart, and nobody finds it any more
    return;
  Mapping::Details& details = mapping.make_details();
  mapping.queued = true;
  std::erase_if(details.users, [&](EventPtr& user) {
    const bool over = user->is_done();
    if (over)
      lock.give_up(std::move(user));
    return over;
  });
  if (transfers && details.written != commands.filled())
    lock.give_up(std::exchange(details.written, commands.filled()));
  if (uses && (details.users.empty() || details.users.back() != commands.ended()))
    details.users.push_back(commands.ended());
}

void DataStep::depart(Mapping& mapping, Held& held, CommandList& commands, Lock& lock) {
  mapping.for_pending([&](const EventPtr& event) { commands.after(event); });
  table_.depart(mapping.host, commands.ended(), lock);
  held.departs = true;
  table_.take_from_table(mapping, lock);
}

// ---- report ----

void DataStep::report(Seen kind, Rows rows, Held& held) {
  constexpr std::size_t kFew = 8; // rows, whose memory is here
  alignas(observe::RowSeen) std::array<std::byte, kFew * sizeof(observe::RowSeen)> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  observe::RowsSeen seen{kind, observe::Within::current(), memory_.number(), sharing_.any(),
                         std::pmr::vector<observe::RowSeen>(rows.size(), &memory)};
  const bool compares = kind == Seen::kMapped && observe::hears_differences() && !table_.any_host_current();
  {
    Lock lock(table_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      describe(rows[i], held.bound[i], kind, lock, seen.rows[i]);
      if (compares && copies_no_global(rows[i], held.bound[i].object))
        seen.rows[i].difference.emplace();
    }
  }
  for (std::size_t i = 0; compares && i < rows.size(); ++i)
    if (seen.rows[i].difference)
      compare(rows[i], *held.bound[i].object, memory_, seen.rows[i].difference);
  observe::report(seen);
}

} // namespace omptool
