// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/data_step.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <utility>

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
  if (kind == observe::RowsSeen::Kind::kMapped && row.maps())
    seen.pointer = binding.pointer;
  describe(binding.object, lock, seen.object);
  describe(binding.cell, lock, seen.cell);
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
  {
    Lock lock(table_);
    for (std::size_t i = 0; i < rows.size(); ++i)
      describe(rows[i], held.bound[i], kind, lock, seen.rows[i]);
  }
  observe::report(seen);
}

} // namespace omptool
