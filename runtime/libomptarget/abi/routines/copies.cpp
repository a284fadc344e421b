// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/routines/copies.h"

#include "abi/routines/routine.h"
#include "rtl/command_list.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace omptool {
namespace {

// Brings to the device what a region that fell back has left newer on the host. Returns false if it could not.
bool make_current(Place place, const std::byte* memory, std::size_t length) {
  return !place.device || place.device->data.host_side.make_device_current(memory, length).empty();
}

// Waits for what the queue was given; `done` is whether it took it.
bool ended(CommandList& commands, bool done) {
  return commands.wait().empty() && done;
}

bool copy_between_devices(Device& to, std::byte* target, const Device& from, const std::byte* source,
                          std::int64_t size) {
  CommandList commands(to.memory);
  return ended(commands, commands.exchange(target, from.memory, source, size));
}

// In one dimension: bytes from one element to the next, where the first is, and bytes of all, on the side that has
// more. Nothing when that overflows.
struct Step {
  std::size_t target, source, target_at, source_at, last;
};

std::optional<std::size_t> stride(std::size_t element_size, const std::size_t* dimensions, int count) {
  std::size_t bytes = element_size;
  for (int i = 1; i < count; ++i)
    if (__builtin_mul_overflow(bytes, dimensions[i], &bytes))
      return std::nullopt;
  return bytes;
}

// In the first of `count` dimensions.
std::optional<Step> step_of(const Rectangle& rectangle, int count) {
  const auto target = stride(rectangle.element_size, rectangle.target_dimensions, count);
  const auto source = stride(rectangle.element_size, rectangle.source_dimensions, count);
  if (!target || !source)
    return std::nullopt;
  Step step{*target, *source, 0, 0, 0};
  if (__builtin_mul_overflow(step.target, *rectangle.target_offsets, &step.target_at) ||
      __builtin_mul_overflow(step.source, *rectangle.source_offsets, &step.source_at) ||
      __builtin_mul_overflow(std::max(step.target, step.source), *rectangle.volume, &step.last) || step.last > LONG_MAX)
    return std::nullopt;
  return step;
}

Rectangle without_first(const Rectangle& all) {
  return {all.element_size,          all.volume + 1,           all.target_offsets + 1, all.source_offsets + 1,
          all.target_dimensions + 1, all.source_dimensions + 1};
}

// The two or three dimensions as a plugin copies them, and where they begin.
struct Strided {
  tgt_rectangle bytes{sizeof(tgt_rectangle), 0, 0, 1, 1, 0, 0, 0, 0};
  std::size_t target_at = 0, source_at = 0;

  bool is_empty() const { return bytes.width == 0 || bytes.rows == 0 || bytes.planes == 0; }
  // Rows and planes lie one behind the other, on both sides.
  bool is_apart() const {
    std::size_t plane = 0;
    return !__builtin_mul_overflow(std::max(bytes.target_row, bytes.source_row), bytes.rows, &plane) &&
           bytes.width <= std::min(bytes.target_row, bytes.source_row) &&
           (bytes.planes == 1 || (bytes.target_row * bytes.rows <= bytes.target_plane &&
                                  bytes.source_row * bytes.rows <= bytes.source_plane));
  }
  std::size_t target_length() const {
    return (bytes.planes - 1) * bytes.target_plane + (bytes.rows - 1) * bytes.target_row + bytes.width;
  }
  std::size_t source_length() const {
    return (bytes.planes - 1) * bytes.source_plane + (bytes.rows - 1) * bytes.source_row + bytes.width;
  }
};

std::optional<Strided> strided(Rectangle rectangle, int count) {
  Strided all;
  for (; count > 0; --count, rectangle = without_first(rectangle)) {
    const std::optional<Step> step = step_of(rectangle, count);
    if (!step)
      return std::nullopt;
    all.target_at += step->target_at;
    all.source_at += step->source_at;
    tgt_rectangle& bytes = all.bytes;
    if (count == 3) {
      bytes.planes = *rectangle.volume;
      bytes.target_plane = step->target;
      bytes.source_plane = step->source;
    } else if (count == 2) {
      bytes.rows = *rectangle.volume;
      bytes.target_row = step->target;
      bytes.source_row = step->source;
    } else {
      bytes.width = *rectangle.volume * rectangle.element_size;
    }
  }
  return all;
}

// As many copies as there are rows, which is what LLVM's runtime makes of a rectangle.
void report_rows(Place to, const std::byte* target, Place from, const std::byte* source, const tgt_rectangle& all) {
  for (std::uint64_t plane = 0; plane < all.planes; ++plane)
    for (std::uint64_t row = 0; row < all.rows; ++row) {
      const std::byte* const there = target + plane * all.target_plane + row * all.target_row;
      const std::byte* const here = source + plane * all.source_plane + row * all.source_row;
      if (to.device)
        report_copy(*to.device, true, here, there, all.width);
      else
        report_copy(*from.device, false, there, here, all.width);
    }
}

// By one call of the plugin. Nothing: it makes no such copies.
std::optional<bool> copy_strided(Place to, std::byte* target, Place from, const std::byte* source,
                                 const Rectangle& rectangle, int count) {
  constexpr int kMostDimensions = 3;
  const DeviceMemory* const there = to.device ? &to.device->memory : nullptr;
  const DeviceMemory* const here = from.device ? &from.device->memory : nullptr;
  if (count > kMostDimensions || !DeviceMemory::copies_rectangles(there, here))
    return std::nullopt;
  const std::optional<Strided> all = strided(rectangle, count);
  if (!all)
    return false;
  if (all->is_empty())
    return true;
  if (!all->is_apart())
    return std::nullopt;
  target += all->target_at;
  source += all->source_at;
  if (!make_current(to, target, all->target_length()) || !make_current(from, source, all->source_length()))
    return false;
  if (to.device)
    to.device->data.activity.note();
  if (observe::heard() && !(to.device && from.device))
    report_rows(to, target, from, source, all->bytes);
  return DeviceMemory::copy_rectangle(there, target, here, source, all->bytes);
}

} // namespace

std::optional<Place> place_of(int number) {
  if (number == number_of_devices())
    return Place{nullptr};
  if (Device* device = usable_device(number))
    return Place{device};
  return std::nullopt;
}

bool copy(Place to, std::byte* target, Place from, const std::byte* source, std::size_t length) {
  const std::int64_t size = static_cast<std::int64_t>(length);
  if (!make_current(to, target, length) || !make_current(from, source, length))
    return false;
  if (to.device)
    to.device->data.activity.note();
  if (to.device && from.device)
    return copy_between_devices(*to.device, target, *from.device, source, size);
  if (to.device) {
    report_copy(*to.device, true, source, target, length);
    return to.device->memory.submit(target, source, size);
  }
  if (from.device) {
    report_copy(*from.device, false, target, source, length);
    return from.device->memory.retrieve(target, source, size);
  }
  std::memmove(target, source, length);
  return true;
}

bool fill(Device& device, std::byte* target, int value, std::size_t size) {
  if (!make_current({&device}, target, size)) // what is next to it in the same object
    return false;
  device.data.activity.note();
  report_copy(device, true, &value, target, size);
  CommandList commands(device.memory);
  return ended(commands, commands.fill(target, value, static_cast<std::int64_t>(size)));
}

bool copy_rectangle(Place to, std::byte* target, Place from, const std::byte* source, Rectangle rectangle, int count) {
  const std::optional<Step> step = step_of(rectangle, count);
  if (!step)
    return false;
  if (count == 1)
    return step->last == 0 || copy(to, target + step->target_at, from, source + step->source_at, step->last);
  if (const std::optional<bool> done = copy_strided(to, target, from, source, rectangle, count))
    return *done;
  target += step->target_at;
  source += step->source_at;
  const Rectangle inner = without_first(rectangle);
  for (std::size_t i = 0; i < *rectangle.volume; ++i)
    if (!copy_rectangle(to, target + i * step->target, from, source + i * step->source, inner, count - 1))
      return false;
  return true;
}

} // namespace omptool
