// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/report.h"

#include <cstddef>

namespace omptool {

namespace {

// Fills it in where it is: a copy would wait for what has just been written.
void describe(const Mapping& mapping, bool fresh, observe::ObjectSeen& seen) {
  seen.host = mapping.host;
  seen.device = mapping.device;
  seen.padding = mapping.padding;
  seen.references = mapping.references;
  seen.holds = mapping.holds;
  seen.infinite = mapping.infinite;
  seen.fresh = fresh;
  seen.leaving = mapping.state == Mapping::State::kLeaving || mapping.state == Mapping::State::kGone;
}

} // namespace

void RowsReport::see(Rows rows, Bindings& bound) {
  seen_.rows.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    observe::RowSeen& one = seen_.rows[i];
    one.base = row.base;
    one.begin = row.begin;
    one.size = row.size;
    one.flags = row.flags;
    one.is_map = row.maps();
    one.is_to = row.has(kTo);
    one.is_from = row.has(kFrom);
    one.is_delete = row.has(kDelete);
    one.is_implicit = row.has(kImplicit);
    one.is_pointer = row.any(kPointer | kAttach);
    one.is_value = row.has(kValue);
    one.is_returned = row.has(kReturn);
    if (seen_.kind == observe::RowsSeen::Kind::kMapped && row.maps())
      one.pointer = bound[i].pointer;
    if (const Mapping* const object = bound[i].object; object && !object->is_in_place())
      describe(*object, bound[i].object.fresh, one.object.emplace());
    if (const Mapping* const cell = bound[i].cell; cell && !cell->is_in_place())
      describe(*cell, bound[i].cell.fresh, one.cell.emplace());
  }
}

void report_copy(int device, bool to_device, const Mapping& mapping, const void* host, const void* there,
                 std::int64_t size, const void* cell) {
  observe::report(observe::ObjectCopied{observe::Within::current(), device, to_device, host, there, size, mapping.host,
                                        mapping.name(), cell});
}

} // namespace omptool
