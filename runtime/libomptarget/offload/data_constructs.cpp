// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs that move data and run no kernel: begin, end and update. They have no host version: what they cannot
// do ends the program, or is for the regions to find.
#include "offload/construct.h"
#include "offload/fallback.h"

#include <utility>

namespace omptool {
namespace {

using Use = CommandList::Use;

class BeginConstruct final : public Construct {
public:
  using Construct::Construct;
  Placed place() override {
    device_.data.beginning.take_position(rows_, held_, Purpose::kData, commands_);
    return placed();
  }
  bool settle(const Placed&, std::string&) override {
    report(device_.data.beginning.lacks(held_));
    device_.data.beginning.return_pointers(rows_, held_);
    return true;
  }
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    if (std::string failure; !device_.data.beginning.copy_in(rows_, held_, Purpose::kData, commands_, failure))
      report(failure);
    return handed_over();
  }
  void finish(HandedOver) override {
    if (use_ == Use::kNow && (held_.flags & kReturn))
      device_.data.beginning.return_pointers(rows_, held_);
    end();
  }
  // One object that the device does not take leaves the others' addresses as they are.
  bool fail(HandedOver handed_over, const std::string& failure, std::string&) override {
    const std::string refused = device_.data.beginning.refuse(rows_, held_, failure);
    commands_.set_ended(failure);
    finish(handed_over);
    report(refused);
    return false;
  }

private:
  // Reports once which object the device does not have, if any: regions that use it run on the host.
  void report(const std::string& failure) {
    if (failure.empty() || std::exchange(is_reported_, true))
      return;
    insist_on_data(failure);
    say("%s lacks an object, and regions that use it run on the host: %s", device_.describe().c_str(), failure.c_str());
  }

  bool is_reported_ = false;
};

class EndConstruct final : public Construct {
public:
  using Construct::Construct;
  Placed place() override {
    device_.data.ending.take_position(rows_, held_, commands_);
    return placed();
  }
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    device_.data.ending.copy_back(rows_, held_, Release::kNormal, commands_);
    return handed_over();
  }
};

class UpdateConstruct final : public Construct {
public:
  using Construct::Construct;
  Placed place() override {
    device_.data.updating.take_position(rows_, held_, commands_);
    return placed();
  }
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    device_.data.updating.copy(rows_, held_, commands_);
    return handed_over();
  }
};

} // namespace

// The steps are one function here: their bounds cost as much as they do themselves.
[[gnu::flatten]] void carry_out(Action action, Device& device, Rows rows) {
  std::string none; // they are never abandoned
  if (action == Action::kEnterData)
    carry_out(BeginConstruct(device, rows, Use::kNow), none);
  else if (action == Action::kExitData)
    carry_out(EndConstruct(device, rows, Use::kNow), none);
  else
    carry_out(UpdateConstruct(device, rows, Use::kNow), none);
}

std::unique_ptr<Construct> data_construct_for_later(Action action, Device& device, Rows rows) {
  if (action == Action::kEnterData)
    return std::make_unique<BeginConstruct>(device, rows, Use::kLater);
  if (action == Action::kExitData)
    return std::make_unique<EndConstruct>(device, rows, Use::kLater);
  return std::make_unique<UpdateConstruct>(device, rows, Use::kLater);
}

} // namespace omptool
