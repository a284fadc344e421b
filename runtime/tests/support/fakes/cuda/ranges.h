// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: which addresses are a device's, or page-locked.
#pragma once

#include <cstddef>
#include <string>

namespace fake_cuda {

enum class Kind { kDevice, kPinned, kRegistered, kVariable };

void add_range(void* begin, std::size_t size, Kind kind);
// Removes a range. Returns false, after a line on stderr, if no range of the kind begins there.
bool remove_range(void* begin, Kind kind);
// Returns whether the whole range is device memory; else prints a line on stderr.
bool is_on_device(unsigned long long begin, std::size_t size);
bool is_page_locked(const void* address);
// Returns up to `most` bytes of device memory in hexadecimal, or fewer up to the end of its range. Returns "-" for
// other memory.
std::string content_at(const void* address, std::size_t most);

} // namespace fake_cuda
