// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the core's, for what is to be done when a call has returned. Two pools, so that kernels which wait for
// the host never take the threads of what the host waits for. In a child of fork() what was given is lost.
#pragma once

#include <functional>

namespace omptool::core_workers {

// Operations of a device without queues, which may wait for one another: their dependences are met.
void operate(std::function<void()> work);
// Runs work that follows when operations have ended, and the program's callbacks.
void finish(std::function<void()> work);
// Ends those that have no work: for a process that exits.
void end();
// Returns whether the calling thread is one of these.
bool here();

} // namespace omptool::core_workers
