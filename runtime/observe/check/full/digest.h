// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool::check {

// Returns a digest of the bytes, about as fast as they are copied. It is no defence against deliberate collisions.
std::uint64_t digest_of(const void* bytes, std::size_t size);

} // namespace omptool::check
