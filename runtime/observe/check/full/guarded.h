// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards the objects of devices whose kernels run in this process, under --check=full. A kernel that accesses memory
// beyond an object, or reads unwritten memory, faults. The fault is recorded, and then the access happens, so that the
// program's results do not change.
#pragma once

#include "check/full/running.h"
#include "check/full/slots.h"

namespace omptool::check {

// Returns memory for an object; null: none that is guarded.
std::byte* allocate_guarded(const observe::MemoryRequest& request);
// Releases guarded memory. Returns false if the memory is not guarded.
bool release_guarded(void* memory);
// Notes that the runtime is about to write or read.
void note_use(const void* there, std::size_t size, bool writes);
// Closes unwritten memory to access: before a kernel runs, and before the program continues.
void close_unwritten();

// Returns the live object whose memory begins at, or holds, an address; null: none is known.
GuardedObject* guarded_object(const void* there);

// An access that faulted.
struct Access {
  std::byte* address;
  bool writes;
  bool reads;
  KernelPlace kernel;
};
// Allows an access, in the signal handler. Returns whether the access can happen now; false: the fault has another
// cause.
bool allow_access(const Access& access);
// Returns whether an address is guarded, for a fault outside of kernels.
bool is_guarded(const void* address);

} // namespace omptool::check
