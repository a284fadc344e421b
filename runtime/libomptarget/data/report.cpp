// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/report.h"

#include <utility>

namespace omptool {

observe::ObjectSeen seen(const Mapping& mapping, bool fresh) {
  return {mapping.host,    mapping.device,
          mapping.padding, mapping.references,
          mapping.holds,   mapping.infinite,
          fresh,           mapping.state == Mapping::State::kLeaving || mapping.state == Mapping::State::kGone};
}

void report_rows(observe::RowsSeen::Kind kind, int device, bool host_memory, Rows rows, Bindings& bound) {
  observe::RowsSeen all{kind, observe::Within::current(), device, host_memory, {}};
  all.rows.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    observe::RowSeen one{row.base, row.begin, row.size, row.flags, nullptr, {}, {}};
    one.is_map = row.maps();
    one.is_to = row.has(kTo);
    one.is_from = row.has(kFrom);
    one.is_delete = row.has(kDelete);
    one.is_implicit = row.has(kImplicit);
    one.is_pointer = row.any(kPointer | kAttach);
    one.is_returned = row.has(kReturn);
    if (kind == observe::RowsSeen::Kind::kMapped && row.maps())
      one.pointer = bound[i].pointer;
    if (const Mapping* const object = bound[i].object; object && !object->is_in_place())
      one.object = seen(*object, bound[i].object_fresh);
    if (const Mapping* const cell = bound[i].cell; cell && !cell->is_in_place())
      one.cell = seen(*cell, bound[i].cell_fresh);
    all.rows.push_back(one);
  }
  observe::report(std::move(all));
}

void report_copy(int device, bool to_device, const Mapping& mapping, const void* host, const void* there,
                 std::int64_t size, const void* cell) {
  if (!observe::hears_begins())
    return;
  observe::report(observe::ObjectCopied{observe::Within::current(), device, to_device, host, there, size, mapping.host,
                                        mapping.name(), cell});
}

} // namespace omptool
