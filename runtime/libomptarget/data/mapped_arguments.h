// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapped arguments of a construct: what each of its rows refers to.
#pragma once

#include "data/table/mapping_table.h"
#include "process/per_row.h"

#include <vector>

namespace omptool {

// What one row of a running call refers to; holds the objects in place until the call is over.
struct Binding {
  MappingPtr object;         // what begin and size name; null: not present
  MappingPtr cell;           // of a kPointer row: what holds the pointer
  void* pointer = nullptr;   // of a kPointer or kAttach row: what it held when the call was made
  bool object_fresh = false; // created by this call
  bool cell_fresh = false;
  bool refused = false;      // the device did not take what this call owes to the object
  bool cell_refused = false; // or to the cell
  bool leaving = false;      // released by this call
  bool host_current = false; // at the time the call began to copy
};
using Bindings = PerRow<Binding>;

// What a construct holds of a device's data, from its position among the others to the end of its operations.
struct Held {
  explicit Held(std::size_t rows) : bound(rows) {}
  Bindings bound;
  bool all_there = true;           // nothing to create, to wait for or to complain about
  bool leaves_events = false;      // its operations may go on while other constructs take their positions
  bool departs = false;            // some of what leaves is on the list of departures
  std::vector<MappingPtr> leaving; // by it; what departs is gone from the table already
  std::vector<MappingPtr> stale;   // what a kernel may read that is newer on the host, or that the device has not
  std::vector<EventPtr> over;      // events that others have taken the place of
};

enum class Purpose { kData, kRegion };
enum class Release { kNormal, kAbandoned };
// kThrough: a construct releases its rows in the step in which it takes its position, so that it is decided what is
// copied back (decision 24).
enum class Passage { kIn, kThrough };
enum class Direction { kToDevice, kToHost };

} // namespace omptool
