// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/region.h"

#include "data/table/row_ranges.h"
#include "process/message.h"

namespace omptool {
namespace {

bool is_private(const Row& row) {
  return row.has(kPrivate | kArgument) && !row.has(kValue);
}

std::string no_private_copy(const Row& row, const std::string& why) {
  return "the device has no private copy of the object at " + describe(range_of(row)) + why;
}

} // namespace

Region::Region(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const LaunchShape& shape,
               CommandList::Use use)
    : device_(device), kernel_(kernel), there_(there), rows_(rows), shape_(with_environment(shape, there.how)),
      held_(rows.size()), copies_(device, kernel.name, rows.size()), arguments_(there.how, rows.size()),
      commands_(device.memory, use) {}

void Region::take_position(Passage passage) {
  released_ = passage == Passage::kThrough;
  std::vector<HostRange> globals;
  if (device_.data.table.any_host_current()) [[unlikely]]
    globals = kernel_.globals();
  device_.data.beginning.take_position(rows_, held_, Purpose::kRegion, passage, commands_, kernel_.name.c_str(),
                                       globals);
}

std::string Region::resolve_arguments() {
  resolved_ = true;
  std::string failure = collect();
  if (failure.empty())
    device_.data.beginning.return_pointers(rows_, held_);
  return failure;
}

std::string Region::start() {
  std::string failure = device_.data.beginning.copy_in(rows_, held_, Purpose::kRegion, commands_);
  if (failure.empty() && !resolved_) // what others create has its memory now
    failure = resolve_arguments();
  if (failure.empty())
    failure = fill_private();
  if (failure.empty() && !held_.stale.empty()) [[unlikely]] {
    failure = commands_.wait(); // what follows is done at once
    if (failure.empty())
      failure = device_.data.host_side.make_device_current(held_);
  }
  return failure.empty() ? run() : failure;
}

// Fills the arguments with one value per kArgument row, in row order. Returns what failed, or "".
std::string Region::collect() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (!row.has(kArgument))
      continue;
    void*& argument = arguments_.add();
    if (!is_private(row))
      argument = device_.data.beginning.argument(row, held_.bound[i]);
    else if (!copies_.allocate(i, row, argument))
      return no_private_copy(row, device_.memory.last_error());
  }
  arguments_.complete();
  return {};
}

void Region::read_private() {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (is_private(rows_[i]))
      copies_.read(i, rows_[i], commands_);
}

std::string Region::fill_private() {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (is_private(rows_[i]) && !copies_.fill(i, rows_[i], commands_))
      return no_private_copy(rows_[i], commands_.failure());
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].has(kAttach))
      if (void* value = device_.data.beginning.pointee(rows_[i], held_.bound[i]);
          value && !copies_.attach(rows_[i].base, value, commands_))
        return "the device did not take a pointer to the object at " + describe(range_of(rows_[i])) +
               commands_.failure();
  return {};
}

// A kernel that has not begun falls back; one that may have begun must not run again on the host.
std::string Region::run() {
  const std::uint64_t noted = device_.data.activity.note();
  const std::int32_t result =
      commands_.run(there_.function, arguments_.data(), arguments_.count(), shape_, kernel_.name);
  if (result == 0)
    return {};
  if (result != OMPTARGET_RTL_NOT_STARTED)
    die("region %s failed on %s with error %d%s", kernel_.name.c_str(), device_.describe().c_str(), result,
        commands_.failure().c_str());
  device_.data.activity.take_back(noted);
  return device_.describe() + " did not start it" + commands_.failure();
}

void Region::abandon() {
  const std::string failure = commands_.wait();
  if (!released_)
    device_.data.ending.release_position(rows_, held_, Release::kAbandoned, commands_, kernel_.name.c_str());
  device_.data.ending.copy_back(rows_, held_, Release::kAbandoned, commands_, kernel_.name.c_str());
  if (const std::string why = commands_.wait(); !why.empty())
    die("region %s: %s", kernel_.name.c_str(), why.c_str());
  device_.data.ending.finish(held_, commands_, failure);
}

void Region::queue_end() {
  if (!released_)
    device_.data.ending.release_position(rows_, held_, Release::kNormal, commands_, kernel_.name.c_str());
  device_.data.ending.copy_back(rows_, held_, Release::kNormal, commands_, kernel_.name.c_str());
  commands_.set_handed_over();
}

void Region::finish(const std::string& failure) {
  if (!failure.empty())
    die("region %s%s %s", kernel_.name.c_str(), failure.starts_with("failed") ? "" : ":", failure.c_str());
  copies_.release();
  device_.data.ending.finish(held_, commands_);
}

} // namespace omptool
