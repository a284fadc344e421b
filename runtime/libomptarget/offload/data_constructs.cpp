// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/data_constructs.h"

#include "offload/fallback.h"
#include "process/message.h"

#include <utility>

namespace omptool {
namespace {

constexpr CommandList::Use kNow = CommandList::Use::kNow;

} // namespace

// ---- begin ----

Placed BeginConstruct::place() {
  device_.data.beginning.take_position(rows_, held_, Purpose::kData, Passage::kIn, commands_);
  return placed();
}

bool BeginConstruct::settle(const Placed&, std::string&) {
  report(device_.data.beginning.lacks(held_));
  device_.data.beginning.return_pointers(rows_, held_);
  return true;
}

std::optional<HandedOver> BeginConstruct::hand_over(Placed, std::string&) {
  if (std::string failure; !device_.data.beginning.copy_in(rows_, held_, Purpose::kData, commands_, failure))
    report(failure);
  commands_.set_handed_over();
  return handed_over();
}

void BeginConstruct::finish(HandedOver) {
  if (use_ == kNow && (held_.flags & kReturn))
    device_.data.beginning.return_pointers(rows_, held_);
  commands_.set_ended();
  device_.data.ending.finish(held_, commands_);
}

// One object that the device does not take leaves the others' addresses as they are.
bool BeginConstruct::fail(HandedOver handed_over, const std::string& failure, std::string&) {
  const std::string refused = device_.data.beginning.refuse(rows_, held_, failure);
  commands_.set_ended(failure);
  finish(handed_over);
  report(refused);
  return false;
}

// Reports once which object the device does not have, if any: regions that use it run on the host.
void BeginConstruct::report(const std::string& failure) {
  if (failure.empty() || std::exchange(is_reported_, true))
    return;
  if (mandatory())
    die("the data of a construct cannot be mapped, and OMP_TARGET_OFFLOAD is MANDATORY: %s", failure.c_str());
  say("the device lacks an object, and regions that use it run on the host: %s", failure.c_str());
}

// ---- end ----

Placed EndConstruct::place() {
  device_.data.ending.take_position(rows_, held_, commands_);
  return placed();
}

std::optional<HandedOver> EndConstruct::hand_over(Placed, std::string&) {
  device_.data.ending.copy_back(rows_, held_, Release::kNormal, commands_);
  commands_.set_handed_over();
  return handed_over();
}

void EndConstruct::finish(HandedOver) {
  commands_.set_ended();
  device_.data.ending.finish(held_, commands_);
}

bool EndConstruct::fail(HandedOver, const std::string& failure, std::string&) {
  die("%s", failure.c_str());
}

// ---- update ----

Placed UpdateConstruct::place() {
  device_.data.updating.take_position(rows_, held_, commands_);
  return placed();
}

std::optional<HandedOver> UpdateConstruct::hand_over(Placed, std::string&) {
  device_.data.updating.copy(rows_, held_, commands_);
  commands_.set_handed_over();
  return handed_over();
}

void UpdateConstruct::finish(HandedOver) {
  commands_.set_ended();
  device_.data.ending.finish(held_, commands_);
}

bool UpdateConstruct::fail(HandedOver, const std::string& failure, std::string&) {
  die("%s", failure.c_str());
}

// ---- all ----

// The steps are one function here: their bounds cost as much as they do themselves.
[[gnu::flatten]] void carry_out(DataAction action, Device& device, Rows rows) {
  std::string none; // they are never abandoned
  switch (action) {
  case DataAction::kBegin:
    static_cast<void>(carry_out(BeginConstruct(device, rows, kNow), none));
    break;
  case DataAction::kEnd:
    static_cast<void>(carry_out(EndConstruct(device, rows, kNow), none));
    break;
  case DataAction::kUpdate:
    static_cast<void>(carry_out(UpdateConstruct(device, rows, kNow), none));
    break;
  }
}

} // namespace omptool
