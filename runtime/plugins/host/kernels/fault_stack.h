// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stack for the handler of fault_signals.h: a kernel that has used up its own leaves it none.
#pragma once

namespace omptool {

inline thread_local constinit bool has_fault_stack __attribute__((tls_model("initial-exec"))) = false;

// Gives the calling thread such a stack until it ends. A thread that the program has given one keeps that.
[[gnu::cold]] void make_fault_stack() noexcept;

// To be called before each kernel.
inline void ensure_fault_stack() noexcept {
  if (!has_fault_stack) [[unlikely]]
    make_fault_stack();
}

} // namespace omptool
