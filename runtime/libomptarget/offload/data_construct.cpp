// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/data_construct.h"

#include "offload/fallback.h"
#include "process/message.h"

#include <utility>

namespace omptool {

void DataConstruct::carry_out() {
  take_position();
  start();
  finish(commands_.wait());
}

// ---- begin ----

void BeginConstruct::take_position() {
  device_.data.beginning.take_position(rows_, held_, Purpose::kData, Passage::kIn, commands_);
  if (use_ == CommandList::Use::kNow)
    return; // what the device does not take is not known yet
  report(device_.data.beginning.lacks(held_));
  device_.data.beginning.return_pointers(rows_, held_);
}

void BeginConstruct::start() {
  report(device_.data.beginning.copy_in(rows_, held_, Purpose::kData, commands_));
  commands_.set_handed_over();
}

void BeginConstruct::finish(const std::string& failure) {
  const std::string refused = device_.data.beginning.refuse(rows_, held_, failure);
  if (use_ ==
      CommandList::Use::kNow) // one object that the device does not take leaves the others' addresses as they are
    device_.data.beginning.return_pointers(rows_, held_);
  device_.data.ending.finish(held_, commands_, failure);
  report(refused);
}

// Reports once which object the device does not have, if any: regions that use it run on the host.
void BeginConstruct::report(const std::string& failure) {
  if (failure.empty() || std::exchange(is_reported_, true))
    return;
  if (mandatory())
    die("data cannot be mapped, and OMP_TARGET_OFFLOAD is MANDATORY: %s", failure.c_str());
  say("regions that use it run on the host: %s", failure.c_str());
}

// ---- end ----

void EndConstruct::take_position() {
  device_.data.ending.take_position(rows_, held_, commands_);
}

void EndConstruct::start() {
  device_.data.ending.copy_back(rows_, held_, Release::kNormal, commands_);
  commands_.set_handed_over();
}

void EndConstruct::finish(const std::string& failure) {
  if (!failure.empty())
    die("%s", failure.c_str());
  device_.data.ending.finish(held_, commands_);
}

// ---- update ----

void UpdateConstruct::take_position() {
  device_.data.updating.take_position(rows_, held_, commands_);
}

void UpdateConstruct::start() {
  device_.data.updating.copy(rows_, held_, commands_);
  commands_.set_handed_over();
}

void UpdateConstruct::finish(const std::string& failure) {
  if (!failure.empty())
    die("%s", failure.c_str());
  device_.data.ending.finish(held_, commands_);
}

std::unique_ptr<DataConstruct> later_construct(DataAction action, Device& device, Rows rows) {
  constexpr CommandList::Use kLater = CommandList::Use::kLater;
  switch (action) {
  case DataAction::kBegin:
    return std::make_unique<BeginConstruct>(device, rows, kLater);
  case DataAction::kEnd:
    return std::make_unique<EndConstruct>(device, rows, kLater);
  case DataAction::kUpdate:
    break;
  }
  return std::make_unique<UpdateConstruct>(device, rows, kLater);
}

} // namespace omptool
