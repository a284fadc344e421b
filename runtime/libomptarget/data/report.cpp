// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/report.h"

#include "data/table/row_ranges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace omptool {
namespace {

// These fill in what they describe where it is: a copy would wait for what has just been written.
void describe(const ArgumentObject& object, std::optional<observe::ObjectSeen>& there) {
  if (!object || object->is_in_place())
    return;
  const Object::Snapshot now = object->snapshot();
  observe::ObjectSeen& seen = there.emplace();
  seen.host = now.host;
  seen.device = now.device;
  seen.padding = now.padding;
  seen.references = now.references;
  seen.holds = now.holds;
  seen.infinite = now.infinite;
  seen.fresh = object.fresh;
  seen.leaving = now.state == Object::State::kLeaving || now.state == Object::State::kGone;
}

void describe(const Row& row, const Argument& argument, observe::RowsSeen::Kind kind, observe::RowSeen& seen) {
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
    seen.pointer = argument.pointer;
  describe(argument.object, seen.object);
  describe(argument.cell, seen.cell);
}

// Tells if the row names a global variable that lives on the device for good, so that the construct copies nothing.
bool copies_no_global(const Row& row, const ArgumentObject& object) {
  constexpr std::uint32_t kCopied = kAlways | kImplicit | kPointer;
  if (!object || object.fresh || !object->is_infinite() || !object->is_named() || object->has_own_value() ||
      !object->is_usable() || object->has_pointers())
    return false;
  const EventPtr last = object->last_write(); // what the device has will change while that is pending
  return (!last || last->is_done()) && row.maps() && row.has(kTo) && !row.any(kCopied) && row.size > 0 &&
         object->host().contains(range_of(row));
}

// Fills in where the bytes differ; resets a `difference` where they do not, or cannot be read.
void compare(const Row& row, const Object& global, const DeviceMemory& memory,
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

void report_rows(observe::RowsSeen::Kind kind, Rows rows, const DeviceData& data, MappedArguments& mapped) {
  constexpr std::size_t kFew = 8; // rows, whose memory is here
  alignas(observe::RowSeen) std::array<std::byte, kFew * sizeof(observe::RowSeen)> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  observe::RowsSeen seen{kind, observe::Within::current(), data.memory.number(), data.sharing.any(),
                         std::pmr::vector<observe::RowSeen>(rows.size(), &memory)};
  const bool compares =
      kind == observe::RowsSeen::Kind::kMapped && observe::hears_differences() && !data.table.any_host_current();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    describe(rows[i], mapped.arguments[i], kind, seen.rows[i]);
    if (compares && copies_no_global(rows[i], mapped.arguments[i].object))
      seen.rows[i].difference.emplace();
  }
  for (std::size_t i = 0; compares && i < rows.size(); ++i)
    if (seen.rows[i].difference)
      compare(rows[i], *mapped.arguments[i].object, data.memory, seen.rows[i].difference);
  observe::report(seen);
}

} // namespace omptool
