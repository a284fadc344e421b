// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/region.h"

#include "data/row_ranges.h"
#include "process/message.h"

namespace omptool {

Region::Region(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const LaunchShape& shape,
               Queue::Use use)
    : device_(device), kernel_(kernel), there_(there), rows_(rows), shape_(shape), queue_(device.memory, use),
      held_(rows.size()), copies_(device, kernel.name, rows.size()), arguments_(rows.size()) {}

void Region::take_place(DataEnvironment::Passage passage) {
  released_ = passage == DataEnvironment::Passage::kThrough;
  // What is newer on the host would keep its place until the region has run, and let others wait.
  if (released_ && device_.data.any_host_current())
    device_.data.make_device_current_early(rows_, kernel_.globals());
  device_.data.take_place(rows_, held_, Purpose::kRegion, passage, queue_, kernel_.name.c_str());
}

std::string Region::lacks() {
  std::string failure = device_.data.lacks(held_);
  if (failure.empty())
    device_.data.return_pointers(rows_, held_);
  return failure;
}

std::string Region::start() {
  std::string failure = device_.data.bring_in(rows_, held_, Purpose::kRegion, queue_);
  if (failure.empty() && !released_)
    device_.data.return_pointers(rows_, held_);
  if (failure.empty())
    failure = collect();
  if (failure.empty() && device_.data.any_host_current()) {
    failure = queue_.wait(); // what follows is done at once
    if (failure.empty())
      failure = device_.data.make_device_current(rows_, kernel_.globals(), held_);
  }
  return failure.empty() ? run() : failure;
}

// Fills the arguments with one value per kArgument row, in row order. Returns what failed, or "".
std::string Region::collect() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (!row.has(kArgument) || (row.has(kIfEnvironment) && there_.image->without_environment))
      continue;
    void*& argument = arguments_[static_cast<std::size_t>(count_++)];
    if (!row.has(kPrivate) || row.has(kValue))
      argument = device_.data.argument(row, held_.bound[i]);
    else if (!copies_.make(i, row, argument, queue_))
      return "the device has no private copy of the object at " + describe(range_of(row)) + queue_.failure();
  }
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].has(kAttach))
      if (void* value = device_.data.pointee(rows_[i], held_.bound[i]);
          value && !copies_.attach(rows_[i].base, value, queue_))
        return "the device did not take a pointer to the object at " + describe(range_of(rows_[i])) + queue_.failure();
  return {};
}

// A kernel that has not begun is the host's turn; one that may have begun must not run again on the host.
std::string Region::run() {
  const std::uint64_t noted = device_.data.note_activity();
  const std::int32_t result = queue_.run(there_.function, arguments_.data(), count_, shape_, kernel_.name);
  if (result == 0)
    return {};
  if (result != OMPTARGET_RTL_NOT_STARTED)
    die("region %s failed on %s with error %d%s", kernel_.name.c_str(), device_.describe().c_str(), result,
        queue_.failure().c_str());
  device_.data.take_back_activity(noted);
  return device_.describe() + " did not start it" + queue_.failure();
}

void Region::abandon() {
  const std::string failure = queue_.wait();
  if (!released_)
    device_.data.give_up_place(rows_, held_, Release::kAbandoned, queue_, kernel_.name.c_str());
  device_.data.bring_back(rows_, held_, Release::kAbandoned, queue_, kernel_.name.c_str());
  if (const std::string why = queue_.wait(); !why.empty())
    die("region %s: %s", kernel_.name.c_str(), why.c_str());
  device_.data.finish(held_, queue_, failure);
}

void Region::queue_end() {
  if (!released_)
    device_.data.give_up_place(rows_, held_, Release::kNormal, queue_, kernel_.name.c_str());
  device_.data.bring_back(rows_, held_, Release::kNormal, queue_, kernel_.name.c_str());
  queue_.set_queued();
}

void Region::finish(const std::string& failure) {
  if (!failure.empty())
    die("region %s%s %s", kernel_.name.c_str(), failure.starts_with("failed") ? "" : ":", failure.c_str());
  copies_.release();
  device_.data.finish(held_, queue_);
}

} // namespace omptool
