// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows the kernels that run, and whose code an instruction is: a kernel's, or that of a function which a kernel calls;
// the runtime's; or the program's own on the host.
#pragma once

#include "observe/events/events.h"

#include <cstdint>
#include <string_view>

namespace omptool::check {

// Frame: a place in running code, as a signal handler sees it.
struct Frame {
  const void* code;
  const std::uintptr_t* stack;
  const void* caller; // return address of the code; null: it is on the stack
};

// Kernel's place. `code` is null if no kernel is running.
struct KernelPlace {
  const void* code = nullptr;
  std::string_view entry = {};
};

void launch_begins(const observe::Operation& launch);
void launch_ends(const observe::Operation& launch);
// Returns the kernel, and its first instruction, of the launch that ended last; what it was is not known where several
// ended at once.
KernelPlace last_kernel();
// The code of images is gone, or will be.
void forget_images();

// Records the runtime's code: `code` is an address in it.
void know_runtime(const void* code);
// Records how to ask a plugin whether the calling thread runs a kernel; `asked` is a function of the plugin.
void know_plugin(std::int32_t (*asked)());

// Kernel at a frame; for signal handlers.
KernelPlace kernel_at(const Frame& frame);
// Returns whether it is neither a kernel's nor the runtime's.
bool is_program(const Frame& frame);

} // namespace omptool::check
