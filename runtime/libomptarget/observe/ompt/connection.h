// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPT: finds the performance tool of the process, once. libomp finds the tool, and connects this library. Without a
// libomp that does so, this library searches for the tool as OpenMP 5.2 prescribes.
#pragma once

namespace omptool::ompt {

// Connects the tool. Called without a lock, because a tool may call this library while it starts.
void connect();

} // namespace omptool::ompt
