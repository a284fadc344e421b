// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs the records of a plugin's table with the entries of the host's (decision 26).
#pragma once

#include "devices/library_contents.h"

#include <string>
#include <vector>

namespace omptool {

// Fills `addresses` with one device address for each of the host's entries, null where the image lacks it. Returns why
// the tables do not belong together, as the end of a message, or "".
std::string pair_entries(const tgt_target_table& table, const EntryTable& host, std::vector<void*>& addresses);

} // namespace omptool
