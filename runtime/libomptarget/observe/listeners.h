// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// Finds out who wants to listen, once. No lock may be held: a tool may call this library while it starts.
void find_listeners();
// Starts a tool, where nobody has yet found out who listens. libomp counts devices, too, while it starts one, and
// connects nobody then: this decides nothing.
void start_tools();

} // namespace omptool::observe
