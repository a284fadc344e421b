// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of one device: what constructs map, unmap and copy, and how that stays right when a region runs on the host
// after all (decisions 1, 2, 7 and 8). Each member uses those above it.
#pragma once

#include "data/allocations.h"
#include "data/binder.h"
#include "data/fallback.h"
#include "data/globals.h"
#include "data/presence.h"
#include "data/table/present_table.h"
#include "data/transfers.h"

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
  Fallback fallback{memory, sharing, table, activity, allocations, transfers};
  Binder binder{table, sharing};
};

} // namespace omptool
