// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs that move data and run no kernel: begin, end and update.
#pragma once

#include "offload/construct.h"

#include <memory>

namespace omptool {

enum class DataAction { kBegin, kEnd, kUpdate };

// All of one whose call waits.
void carry_out(DataAction action, Device& device, Rows rows);
// One whose call returns before it has ended.
std::unique_ptr<Construct> data_construct_for_later(DataAction action, Device& device, Rows rows);

} // namespace omptool
