// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack for the handler of fault_signals.h: a kernel that has overflowed its own stack has no space for the handler.
#pragma once

namespace omptool {

inline thread_local constinit bool has_fault_stack __attribute__((tls_model("initial-exec"))) = false;

// Makes an alternate signal stack for the calling thread until it ends, unless the program has set one.
[[gnu::cold]] void make_fault_stack() noexcept;

// Ensures that the thread has an alternate signal stack. Called before each kernel.
inline void ensure_fault_stack() noexcept {
  if (!has_fault_stack) [[unlikely]]
    make_fault_stack();
}

} // namespace omptool
