// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards the objects of devices whose kernels run in this process, under --check=full. A kernel that reads or writes
// beyond one, or reads what nobody has written, faults; the fault is recorded, and then the access happens, so that the
// program computes what it would.
#pragma once

#include "check/full/running.h"
#include "check/full/slots.h"

namespace omptool::check {

// Returns memory for an object; null: none that is guarded.
std::byte* allocate_guarded(const observe::MemoryRequest& request);
// False: it is not from there.
bool release_guarded(void* memory);
// The runtime is about to write there, or to read.
void note_use(const void* there, std::size_t size, bool writes);
// Takes access away from what nobody has written: before a kernel runs, and before the program goes on.
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
// For the handler of the signal. Returns whether the access can happen now; false: the fault is somebody else's.
bool allow_access(const Access& access);
// The same before it knows the kernel.
bool is_guarded(const void* address);

} // namespace omptool::check
