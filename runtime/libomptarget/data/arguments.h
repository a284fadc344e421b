// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapped arguments of a construct: what each of its rows refers to.
#pragma once

#include "data/table/present_table.h"
#include "data/table/row.h"
#include "per_row.h"

#include <array>

namespace omptool {

// An object that an argument refers to, pinned until the construct is over.
struct ArgumentObject {
  Object* known = nullptr; // null: not present
  bool fresh = false;      // created by this call
  bool refused = false;    // the device did not take what this call owes to it
  bool leaves = false;     // the row drops the last reference
  operator Object*() const { return known; }
  Object* operator->() const { return known; }
};

// A row of a running construct and the objects that it refers to.
struct Argument {
  ArgumentObject object;     // what begin and size name
  ArgumentObject cell;       // of a kPointer or kAttach row: what holds the pointer
  void* pointer = nullptr;   // of these: what it held when the call was made
  bool filled = false;       // the object was created and filled before the call had its position
  bool repeated = false;     // an earlier row of the call copies the same bytes to the new object
  bool pinned = true;        // until the row lets go of an object that stays
  bool host_current = false; // at the time the call began to copy
  std::array<ArgumentObject*, 2> both() { return {&object, &cell}; }
};

// A construct's hold on a device's data, from its position among the others to the end of its operations.
struct MappedArguments {
  explicit MappedArguments(Rows rows) : arguments(rows.size()) {
    for (const Row& row : rows) {
      flags |= row.flags;
      all_plain = all_plain && (is_plain(row) || row.has(kValue));
    }
  }
  // Returns the address by which others know the construct.
  const void* call() const { return &arguments; }
  // Returns whether some row drops the last reference to the object: several may name it.
  bool releases(const Object& object) const { return any_leaves && object.is_left_by(call()); }

  PerRow<Argument> arguments;
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

} // namespace omptool
