// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles SIGSEGV and SIGTRAP under --check=full. Other signals are passed to the earlier handler.
#pragma once

namespace omptool::check {

// Returns whether a signal's context shows the instruction's access on this machine.
bool faults_are_readable();
// Puts the handler before any that the program, or a plugin, has set since.
void watch_faults();
void watch_traps();
// Lets the calling thread have the signal: one that is blocked ends the process. Returns whether it was blocked.
bool unblock_faults();
void block_faults();

} // namespace omptool::check
