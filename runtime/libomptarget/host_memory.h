// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that programs get from the host by its device number.
#pragma once

#include <cstddef>

namespace omptool {

void* allocate_on_host(std::size_t size);
// In a child of fork() the host has a number that was a device's before. What the child has not got from
// the host itself is left alone: it may be memory of that device.
void release_on_host(void* memory);

} // namespace omptool
