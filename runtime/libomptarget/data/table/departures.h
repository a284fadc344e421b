// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory whose copy back is queued: its object is not in the table any more. Whoever maps it anew comes after that.
// Its user holds a lock.
#pragma once

#include "host_range.h"
#include "rtl/event.h"

#include <cstdint>
#include <map>
#include <vector>

namespace omptool {

class Departures {
public:
  // Takes the place of what has departed there before, which this object came after. `over` gets the events that are to
  // be dropped without a lock.
  void add(HostRange host, const EventPtr& ended, std::vector<EventPtr>& over);
  // The construct that ends by this event has given the memory back.
  void forget(HostRange host, const EventPtr& ended);
  // Returns the events, not done yet, after which nothing of the range departs any more.
  std::vector<EventPtr> pending(HostRange range) const;

private:
  struct Part {
    std::uintptr_t end;
    EventPtr ended;
  };
  using Parts = std::map<std::uintptr_t, Part>; // by where they begin; none overlap

  template <typename All> static auto first_in(All& all, HostRange range);
  void split_at(std::uintptr_t address);

  Parts parts_;
};

} // namespace omptool
