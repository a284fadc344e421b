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
// Returns whether all of it is the device's; else prints a word on stderr.
bool is_on_device(unsigned long long begin, std::size_t size);
bool is_page_locked(const void* address);
// Returns what the device has there, in hexadecimal: `most` bytes, or less up to the end of its range. Returns "-"
// where that is none of the device's.
std::string content_at(const void* address, std::size_t most);

} // namespace fake_cuda
