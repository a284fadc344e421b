// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that faults on a CPU ends the program by a signal. Plugins say which kernel it was; the signal then does
// what it did.
#pragma once

namespace omptool {

// A fault: its signal, the address at fault, and the code that caused it; null: not known.
struct Fault {
  const char* signal;
  const void* address;
  const void* code;
};

// From now on `tell` hears of each of machine::kFaultSignals, in the signal handler: it takes neither the heap nor a
// stream, and writes nothing where no kernel of its own is at fault. A signal that the program handles, or
// ignores, is left alone; not so one that another plugin handles, or the library that `driver` is in: they come next.
// Once in each plugin.
void watch_faults(void (*tell)(const Fault& fault), const void* driver = nullptr);

} // namespace omptool
