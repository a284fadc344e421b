// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies bytes and rectangles between the host and devices, and fills memory, for routines.
#pragma once

#include "offload/offload.h"

#include <cstddef>
#include <optional>

namespace omptool {

// Place: one end of a copy; null is the host.
using Place = Device*;
// Returns the place of a device number, or nothing if it is not usable.
std::optional<Place> place_of(int number);

// Copy and fill memory. Return false if a device fails.
bool copy(Place to, std::byte* target, Place from, const std::byte* source, std::size_t length);
bool fill(Device& device, std::byte* target, int value, std::size_t size);

// Rectangle by dimensions, outermost first; the last one is contiguous.
struct Rectangle {
  std::size_t element_size;
  const std::size_t *volume, *target_offsets, *source_offsets, *target_dimensions, *source_dimensions;
};
// Copies a rectangle. Returns false if a device fails, or if a number of bytes overflows.
bool copy_rectangle(Place to, std::byte* target, Place from, const std::byte* source, const Rectangle& rectangle,
                    std::size_t count);

} // namespace omptool
