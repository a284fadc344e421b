// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of one device: what constructs map, unmap and copy, and how that stays right when a region runs on the host
// after all (decisions 1, 2, 7 and 8). Each member uses those above it.
#pragma once

#include "data/allocations.h"
#include "data/begin.h"
#include "data/diverged_copies.h"
#include "data/end.h"
#include "data/globals.h"
#include "data/host_side.h"
#include "data/presence.h"
#include "data/table/present_table.h"
#include "data/transfers.h"
#include "data/update.h"

namespace omptool {

struct DeviceData {
  explicit DeviceData(const DeviceMemory& its_memory) : memory(its_memory) {}

  const DeviceMemory& memory;
  Sharing sharing;
  Activity activity;
  PresentTable table{memory, activity, sharing};
  Presence presence{table, sharing};
  Globals globals{table};
  Allocations allocations{memory};
  Transfers transfers{memory, sharing};
  DivergedCopies diverged{memory, table, activity, transfers};
  HostSide host_side{memory, sharing, table, allocations, diverged};
  End ending{memory, sharing, table, diverged};
  Begin beginning{memory, sharing, table, diverged, transfers, host_side, ending};
  Update updating{memory, sharing, table, diverged};
};

} // namespace omptool
