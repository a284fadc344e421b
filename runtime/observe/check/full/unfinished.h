// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watches the variables that a `nowait` construct copies, until it has ended: the host may read what only goes to the
// device, and may neither read nor write what comes back. An object that is mapped around the construct is left alone:
// the host's copy is its own meanwhile.
#pragma once

#include "observe/events/events.h"

#include <map>
#include <mutex>

namespace omptool::check {

class Unfinished {
public:
  void hear(const observe::Event& event);

private:
  void see(const observe::RowsSeen& seen);

  std::mutex mutex_;
  std::map<std::uintptr_t, unsigned> watched_; // counts by address
};

} // namespace omptool::check
