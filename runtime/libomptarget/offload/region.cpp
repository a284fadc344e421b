// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/region.h"

#include "data/table/row_ranges.h"
#include "process/message.h"

#include <algorithm>
#include <utility>

namespace omptool {
namespace {

bool is_private(const Row& row) {
  return row.has(kPrivate | kArgument) && !row.has(kValue);
}

std::string no_private_copy(const Row& row, const std::string& why) {
  return "the device has no private copy of the object at " + describe(range_of(row)) + why;
}

} // namespace

// ---- placed ----

bool Region::resolve(const Placed&, std::string& reason) {
  reason = missing_object();
  return reason.empty() && resolve_arguments(reason);
}

// Fills the arguments with one value per kArgument row, in row order.
bool Region::resolve_arguments(std::string& reason) {
  is_resolved_ = true;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (!row.has(kArgument))
      continue;
    void*& argument = arguments_.add();
    if (!is_private(row)) {
      argument = kernel_argument(row, mapped_.arguments[i]);
      if (device_.memory.moves_itself()) // the kernel runs on this processor: 1.1 times as fast where objects are many
        __builtin_prefetch(argument);
    } else if (!allocate_private(i, argument)) {
      reason = no_private_copy(row, device_.memory.last_error());
      return false;
    }
  }
  arguments_.complete();
  if (mapped_.flags & kReturn)
    return_pointers();
  return true;
}

// False: the device has no memory for it.
[[gnu::noinline]] bool Region::allocate_private(std::size_t index, void*& argument) {
  const Row& row = rows_[index];
  // A row of no bytes says nothing in `begin`.
  const void* const begin = row.size == 0 && !row.has(kSection) ? row.base : row.begin;
  PrivateCopy& copy = copies_[index];
  copy = {nullptr, begin, std::max<std::int64_t>(row.size, 1)};
  copy.device = device_.memory.allocate(copy.size, begin, 0, row.size == 0 ? kStructAlignment : 1);
  if (!copy.device)
    return false;
  argument = device_base(copy.device, begin, row.base);
  return true;
}

// ---- handed over ----

// Objects that others create have their memory when the copies are queued.
bool Region::fill(std::string& reason) {
  return copy_in(reason) && (is_resolved_ || resolve_arguments(reason)) &&
         (!(mapped_.flags & (kPrivate | kAttach)) || fill_private(reason));
}

[[gnu::noinline]] bool Region::fill_private(std::string& reason) {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (is_private(rows_[i]) && rows_[i].has(kTo) && rows_[i].size > 0 &&
        !commands_.submit(copies_[i].device, rows_[i].begin, rows_[i].size)) {
      reason = no_private_copy(rows_[i], commands_.failure());
      return false;
    }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    void* const value = rows_[i].has(kAttach) ? pointee(rows_[i], mapped_.arguments[i]) : nullptr;
    if (value && !attach_private(rows_[i].base, value)) {
      reason =
          "the device did not take a pointer to the object at " + describe(range_of(rows_[i])) + commands_.failure();
      return false;
    }
  }
  return true;
}

// Returns the value of the device's copy of a kAttach row's pointer; null: the pointee is not present.
void* Region::pointee(const Row& row, const Argument& argument) const {
  if (!argument.object || !argument.object->device())
    return nullptr;
  return device_base(argument.object->at(reinterpret_cast<std::uintptr_t>(row.begin)), row.begin, argument.pointer);
}

// Writes a pointer into the private copies that hold the one at `cell`. False: the device did not take it.
bool Region::attach_private(const void* cell, void* value) {
  for (const PrivateCopy& copy : copies_) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(cell) - reinterpret_cast<std::uintptr_t>(copy.host);
    if (!copy.device || offset > static_cast<std::uintptr_t>(copy.size) ||
        static_cast<std::uintptr_t>(copy.size) - offset < sizeof value)
      continue;
    const observe::Shown shown(cell);
    if (!commands_.submit(copy.device + offset, commands_.keep(&value, sizeof value), sizeof value))
      return false;
  }
  return true;
}

std::optional<HandedOver> Region::hand_over(Placed, std::string& reason) {
  if (!fill(reason) || !run(reason)) [[unlikely]]
    return std::nullopt;
  leave();
  return handed_over();
}

// A kernel that has not begun falls back; one that may have begun must not run again on the host.
bool Region::run(std::string& reason) {
  const std::uint64_t noted = data().activity.note();
  if (data().table.any_host_current() && !bring_up_to_date(noted, reason)) [[unlikely]]
    return false;
  const std::int32_t result =
      commands_.run({there_.function, arguments_.data(), arguments_.count(), shape_, there_.how}, kernel_.name);
  return result == 0 || take_back(result, noted, reason);
}

// The device gets what the host has newer, also from a region that has fallen back before this one was noted.
[[gnu::cold, gnu::noinline]] bool Region::bring_up_to_date(std::uint64_t noted, std::string& reason) {
  reason = data().fallback.to_device(mapped_, kernel_.globals(), commands_);
  if (!reason.empty())
    data().activity.take_back(noted);
  return reason.empty();
}

[[gnu::cold, gnu::noinline]] bool Region::take_back(std::int32_t result, std::uint64_t noted, std::string& reason) {
  if (result != OMPTARGET_RTL_NOT_STARTED)
    die("region %s failed on %s with error %d%s", kernel_.title().c_str(), device_.describe().c_str(), result,
        commands_.failure().c_str());
  data().activity.take_back(noted);
  reason = device_.describe() + " did not start the kernel" + commands_.failure();
  return false;
}

// Releases the objects, unless the call returns before the region ends: placing it released them then.
void Region::leave() {
  if (!commands_.is_later())
    release();
  copy_back();
}

// ---- done ----

[[gnu::noinline]] void Region::abandon(Placed) {
  const std::string failure = commands_.wait();
  is_abandoned_ = true;
  leave();
  if (const std::string why = commands_.wait(); !why.empty())
    die("region %s: %s", kernel_.title().c_str(), why.c_str());
  commands_.set_ended(failure);
  end();
}

[[gnu::cold, gnu::noinline]] bool Region::fail(HandedOver handed_over, const std::string& failure,
                                               std::string& reason) {
  const std::string others = commands_.failure_of_others();
  if (others.empty())
    die("region %s%s %s", kernel_.title().c_str(), failure.starts_with("failed") ? "" : ":", failure.c_str());
  if (commands_.is_later())
    die("region %s failed on %s after its call had returned: %s", kernel_.title().c_str(), device_.describe().c_str(),
        others.c_str());
  reason = others;
  commands_.set_ended(failure);
  finish(handed_over);
  return true;
}

void Region::release_all_private() {
  for (PrivateCopy& copy : copies_)
    if (std::byte* const device = std::exchange(copy.device, nullptr))
      device_.memory.release(device, copy.host, copy.size, kernel_.name);
}

void Region::finish(HandedOver) {
  release_private();
  end();
}

// ---- all ----

// The steps are one function here: their bounds cost as much as they do themselves.
[[gnu::flatten]] bool run_on_device(Device& device, const Kernel& kernel, const Resolved& there, Rows rows,
                                    const AskedShape& shape, std::string& reason) {
  return carry_out(Region(device, kernel, there, rows, shape, Waits::kNow), reason);
}

} // namespace omptool
