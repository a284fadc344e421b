// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <csignal>

namespace omptool {

// Unblocks the fault signals on the calling thread, which runs kernels. A thread inherits the signal mask of its
// creator, and a fault whose signal is blocked ends the program without a message.
inline void receive_fault_signals() {
  sigset_t faults;
  ::sigemptyset(&faults);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
    ::sigaddset(&faults, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

} // namespace omptool
