// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool::check {

// Returns a number that stands for the bytes: about as fast as they are copied, and no defence against anybody who
// looks for two inputs with one number.
std::uint64_t digest_of(const void* bytes, std::size_t size);

} // namespace omptool::check
