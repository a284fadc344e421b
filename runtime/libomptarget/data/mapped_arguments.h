// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapped arguments of a construct: what each of its rows refers to.
#pragma once

#include "data/table/present_table.h"
#include "data/table/row.h"
#include "per_row.h"

#include <algorithm>
#include <array>

namespace omptool {

// An object that a row of a running call refers to, pinned until the call is over.
struct RowObject {
  Mapping* mapping = nullptr; // null: not present
  bool fresh = false;         // created by this call
  bool refused = false;       // the device did not take what this call owes to it
  bool leaves = false;        // the row gives up the last reference
  operator Mapping*() const { return mapping; }
  Mapping* operator->() const { return mapping; }
};

// Binds one row of a running call to its objects.
struct Binding {
  RowObject object;          // what begin and size name
  RowObject cell;            // of a kPointer or kAttach row: what holds the pointer
  void* pointer = nullptr;   // of these: what it held when the call was made
  bool filled = false;       // the object was created and filled before the call had its position
  bool repeated = false;     // an earlier row of the call copies the same bytes to the new object
  bool pinned = true;        // until the row lets go of an object that stays
  bool host_current = false; // at the time the call began to copy
  std::array<RowObject*, 2> both() { return {&object, &cell}; }
};
using Bindings = PerRow<Binding>;

// A construct's hold on a device's data, from its position among the others to the end of its operations.
struct Held {
  explicit Held(Rows rows) : bound(rows.size()) {
    for (const Row& row : rows) {
      flags |= row.flags;
      all_plain = all_plain && (is_plain(row) || row.has(kValue));
    }
  }
  // Some row gives up the object: several may name it.
  bool gives_up(const Mapping& object) {
    const auto gives = [&](const RowObject& one) { return one.leaves && one == &object; };
    return any_leaves && std::any_of(bound.begin(), bound.end(), [&](const Binding& binding) {
             return gives(binding.object) || gives(binding.cell);
           });
  }

  Bindings bound;
  std::uint32_t flags = 0;    // of all rows
  bool all_plain = true;      // each of them is, or is a value
  bool creates = false;       // some of its objects are its own to fill
  bool awaits = false;        // others fill some of them
  bool lacks = false;         // the device may not have some of them
  bool leaves_events = false; // its operations may go on while other constructs take their positions
  bool any_leaves = false;    // some of its objects leave
  bool departs = false;       // some of these are on the list of departures
  Pins stale;                 // what a kernel may read that is newer on the host, or that the device has not
};

enum class Purpose { kData, kRegion };
enum class Release { kNormal, kAbandoned };
// kThrough: a construct releases its rows in the step in which it takes its position, so that it is decided what is
// copied back (decision 24).
enum class Passage { kIn, kThrough };
enum class Direction { kToDevice, kToHost };

} // namespace omptool
