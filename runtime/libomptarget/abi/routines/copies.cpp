// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/routines/copies.h"

#include "observe/events/sink.h"
#include "rtl/device_memory.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <span>
#include <vector>

namespace omptool {
namespace {

// Copies newer host bytes, left by a region that fell back, to both ends of a copy. Returns false if that fails.
bool make_current(Place to, const std::byte* target, std::size_t target_length, Place from, const std::byte* source,
                  std::size_t source_length) {
  if (to) // first: a fallback sees this, or is seen (data/table/activity.h)
    to->data.activity.note();
  return (!to || to->data.fallback.to_device(target, target_length).empty()) &&
         (!from || from->data.fallback.to_device(source, source_length).empty());
}

// Reports a copy from or to the host by a routine, which has no name for the object.
void report_copy(Place to, const void* target, Place from, const void* source, std::size_t size) {
  if (!observe::hears_begins() || !to == !from)
    return;
  const bool to_device = to != nullptr;
  const int number = (to_device ? to : from)->number;
  const void* const host = to_device ? source : target;
  const void* const there = to_device ? target : source;
  observe::report(observe::ObjectCopied{
      observe::Within::current(), number, to_device, host, there, static_cast<std::int64_t>(size), {}, {}});
}

// Step through a dimension of a rectangle: its count of sub-rectangles, and the bytes from one to the next on each
// side.
struct Step {
  std::size_t count, target, source;
};
using Steps = std::span<const Step>;

// Returns the whole rectangle as one record for a plugin.
tgt_rectangle rectangle_of(Steps steps) {
  const Step& bytes = steps.back();
  const Step& rows = steps[steps.size() - 2];
  const Step planes = steps.size() == 3 ? steps.front() : Step{1, 0, 0};
  const std::uint64_t width = bytes.count * bytes.target;
  return {sizeof(tgt_rectangle), 0,           width,        rows.count, planes.count, rows.target,
          planes.target,         rows.source, planes.source};
}

// Returns whether no two rows or planes overlap, on either side.
bool is_disjoint(const tgt_rectangle& all) {
  std::size_t plane = 0;
  return !__builtin_mul_overflow(std::max(all.target_row, all.source_row), all.rows, &plane) &&
         all.width <= std::min(all.target_row, all.source_row) &&
         (all.planes == 1 ||
          (all.target_row * all.rows <= all.target_plane && all.source_row * all.rows <= all.source_plane));
}

// Reports a copy for each row, as LLVM's runtime does for a rectangle.
void report_rows(Place to, const std::byte* target, Place from, const std::byte* source, const tgt_rectangle& all) {
  for (std::uint64_t plane = 0; observe::heard() && plane < all.planes; ++plane)
    for (std::uint64_t row = 0; row < all.rows; ++row)
      report_copy(to, target + plane * all.target_plane + row * all.target_row, from,
                  source + plane * all.source_plane + row * all.source_row, all.width);
}

// Copies the rectangle by one plugin call. Returns nothing if the plugin has no such function.
std::optional<bool> copy_at_once(Place to, std::byte* target, Place from, const std::byte* source, Steps steps) {
  constexpr std::size_t kMostDimensions = 3;
  const DeviceMemory* const there = to ? &to->memory : nullptr;
  const DeviceMemory* const here = from ? &from->memory : nullptr;
  if (steps.size() > kMostDimensions || !DeviceMemory::copies_rectangles(there, here))
    return std::nullopt;
  const tgt_rectangle all = rectangle_of(steps);
  if (all.width == 0 || all.rows == 0 || all.planes == 0)
    return true;
  if (!is_disjoint(all))
    return std::nullopt;
  const std::size_t target_length = (all.planes - 1) * all.target_plane + (all.rows - 1) * all.target_row + all.width;
  const std::size_t source_length = (all.planes - 1) * all.source_plane + (all.rows - 1) * all.source_row + all.width;
  if (!make_current(to, target, target_length, from, source, source_length))
    return false;
  report_rows(to, target, from, source, all);
  return DeviceMemory::copy_rectangle(there, target, here, source, all);
}

bool copy_steps(Place to, std::byte* target, Place from, const std::byte* source, Steps steps) {
  const Step& first = steps.front();
  if (steps.size() == 1)
    return first.count == 0 || copy(to, target, from, source, first.count * first.target);
  if (const std::optional<bool> done = copy_at_once(to, target, from, source, steps))
    return *done;
  for (std::size_t i = 0; i < first.count; ++i)
    if (!copy_steps(to, target + i * first.target, from, source + i * first.source, steps.subspan(1)))
      return false;
  return true;
}

} // namespace

std::optional<Place> place_of(int number) {
  Device* const device = usable_device(number);
  return device || number == number_of_devices() ? std::optional<Place>(device) : std::nullopt;
}

bool copy(Place to, std::byte* target, Place from, const std::byte* source, std::size_t length) {
  const std::int64_t size = static_cast<std::int64_t>(length);
  if (!make_current(to, target, length, from, source, length))
    return false;
  if (to && from)
    return to->memory.copy_from(target, from->memory, source, size);
  report_copy(to, target, from, source, length);
  if (to)
    return to->memory.submit(target, source, size);
  if (from)
    return from->memory.retrieve(target, source, size);
  std::memmove(target, source, length);
  return true;
}

bool fill(Device& device, std::byte* target, int value, std::size_t size) {
  const Place to = &device, host = nullptr;
  if (!make_current(to, target, size, host, nullptr, 0)) // what is next to it in the same object
    return false;
  // Bytes of the fill value: tools may read the source of a copy, and have no other event for a fill.
  const std::vector<std::byte> bytes(observe::heard() ? size : 0, static_cast<std::byte>(value));
  const observe::Shown shown(bytes.empty() ? nullptr : bytes.data());
  report_copy(to, target, host, bytes.data(), size);
  return device.memory.fill(target, value, static_cast<std::int64_t>(size));
}

bool copy_rectangle(Place to, std::byte* target, Place from, const std::byte* source, const Rectangle& rectangle,
                    std::size_t count) {
  std::vector<Step> steps(count);
  std::size_t target_step = rectangle.element_size, source_step = rectangle.element_size;
  for (std::size_t i = count; i-- > 0;) {
    steps[i] = {rectangle.volume[i], target_step, source_step};
    std::size_t target_at = 0, source_at = 0, last = 0;
    if (__builtin_mul_overflow(target_step, rectangle.target_offsets[i], &target_at) ||
        __builtin_mul_overflow(source_step, rectangle.source_offsets[i], &source_at) ||
        __builtin_mul_overflow(std::max(target_step, source_step), rectangle.volume[i], &last) || last > LONG_MAX)
      return false;
    target += target_at;
    source += source_at;
    if (i > 0 && (__builtin_mul_overflow(target_step, rectangle.target_dimensions[i], &target_step) ||
                  __builtin_mul_overflow(source_step, rectangle.source_dimensions[i], &source_step)))
      return false;
  }
  return copy_steps(to, target, from, source, steps);
}

} // namespace omptool
