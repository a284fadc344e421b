// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports kernels that fault on a CPU. Such a kernel ends the program by a signal; the plugin names the kernel, and
// then the signal has its usual effect.
#pragma once

namespace omptool {

// A fault: its signal, the address at fault, and the code that caused it; null: not known.
struct Fault {
  const char* signal;
  const void* address;
  const void* code;
};

// Calls `tell` for each of machine::kFaultSignals, in the signal handler. The function must not allocate, must not use
// a stream, and writes nothing if no kernel of its plugin is at fault. Signals that the program handles or ignores stay
// with the program. Handlers of other plugins, and of the library that contains `driver`, run after this one. Called
// once in each plugin.
void watch_faults(void (*tell)(const Fault& fault), const void* driver = nullptr);

} // namespace omptool
