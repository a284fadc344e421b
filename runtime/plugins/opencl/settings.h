// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The environment variable of the plugin. Programs that run with raised privileges (AT_SECURE) ignore it.
#pragma once

#include <cstdint>

namespace omptool::opencl {

// The memory that data lies in.
enum class MemoryKind : std::uint8_t {
  kAny,    // the first of the next that a device has: kUsm, kSvm
  kUsm,    // Intel's unified shared memory: the device's own, or both's where they are one
  kDevice, // the same, the device's own in any case
  kSvm,    // fine-grained shared virtual memory
  kShared  // the host's: nothing is copied
};

// OMPTOOL_OPENCL_MEMORY. A value that cannot be used gets one line on stderr, and is ignored.
MemoryKind wanted_memory();

} // namespace omptool::opencl
