// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// Finds the listeners that the environment asks for, once. Called without a lock, because a tool may call this library
// while it starts.
void find_listeners();
// Starts a tool, if the listeners have not been found yet. libomp counts devices, too, while it starts a tool, and
// connects no library then, so this call decides nothing.
void start_tools();

} // namespace omptool::observe
