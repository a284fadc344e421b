// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/report.h"

#include <array>
#include <cstddef>
#include <memory_resource>
#include <optional>

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

void report_rows(observe::RowsSeen::Kind kind, int device, const Sharing& sharing, PresentTable& table, Rows rows,
                 Held& held) {
  constexpr std::size_t kFew = 8; // rows, whose memory is here
  alignas(observe::RowSeen) std::array<std::byte, kFew * sizeof(observe::RowSeen)> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  observe::RowsSeen seen{kind, observe::Within::current(), device, sharing.any(),
                         std::pmr::vector<observe::RowSeen>(rows.size(), &memory)};
  {
    PresentTable::Lock lock(table);
    for (std::size_t i = 0; i < rows.size(); ++i)
      describe(rows[i], held.bound[i], kind, lock, seen.rows[i]);
  }
  observe::report(seen);
}

void report_copy(int device, bool to_device, const Mapping& mapping, const void* host, const void* there,
                 std::int64_t size, const void* cell) {
  observe::report(observe::ObjectCopied{observe::Within::current(), device, to_device, host, there, size, mapping.host,
                                        mapping.name(), cell});
}

} // namespace omptool
