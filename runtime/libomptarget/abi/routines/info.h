// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LIBOMPTARGET_INFO tells of routines.
#pragma once

#include <cstdint>

namespace omptool {

struct Device;

// A routine asks for the byte at `address`.
void tell_of_question(Device& device, const void* address);
// A routine copies; nobody knows what the program calls it.
void tell_of_copy_in(const Device& device, const void* host, const void* there, std::int64_t size);
void tell_of_copy_out(const Device& device, const void* host, const void* there, std::int64_t size);

} // namespace omptool
