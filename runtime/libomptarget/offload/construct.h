// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct on its way through a device: a region, or one that begins, ends or updates data. Each has one body, whose
// steps calls that wait drive to the end, and asynchronous ones as far as they can. A step takes what the step before
// it has returned, so that a wrong order does not compile.
#pragma once

#include "devices/registry.h"
#include "process/message.h"
#include "rtl/command_list.h"

#include <memory>
#include <optional>
#include <string>

namespace omptool {

enum class Stage { kPlaced, kHandedOver };

// The proof that a construct has reached the stage.
template <Stage stage> class [[nodiscard]] Taken {
  friend class Construct;
  Taken() = default;
};
using Placed = Taken<Stage::kPlaced>;         // it has its position among the constructs, and its objects are counted
using HandedOver = Taken<Stage::kHandedOver>; // the device has all its operations

// Calls that wait call the functions of the final classes, without a look into a table.
class Construct {
public:
  // Device and rows have to live as long as this.
  Construct(Device& device, Rows rows, CommandList::Use use)
      : device_(device), rows_(rows), use_(use), held_(rows), commands_(device.memory, use) {}
  virtual ~Construct() = default;
  Construct(const Construct&) = delete;
  Construct& operator=(const Construct&) = delete;

  virtual Placed place() = 0;
  // Decides what an asynchronous call decides before it returns: addresses, memory for private copies. False, and why:
  // the construct has to be abandoned.
  virtual bool settle(const Placed&, std::string&) { return true; }
  // Queues what the device is to do. Nothing, and why: it has not begun, and has to be abandoned.
  virtual std::optional<HandedOver> hand_over(Placed, std::string& reason) = 0;
  // Waits for what is queued, and undoes it.
  virtual void abandon(Placed) {}
  // All has ended.
  virtual void finish(HandedOver) { end(); }
  // An operation has failed. Returns true, and why, if nothing of the construct has begun, because that is the failure
  // of one before it (decision 32): nothing of it is left then. Ends the program where it cannot go on.
  virtual bool fail(HandedOver, const std::string& failure, std::string&) { die("%s", failure.c_str()); }
  // Returns how messages name it.
  virtual std::string name() const { return "an asynchronous data call"; }

  CommandList& commands() { return commands_; }

protected:
  static Placed placed() { return {}; }
  HandedOver handed_over() {
    commands_.set_handed_over();
    return {};
  }
  // `region` names the region that has run, if any has.
  void end(std::string_view region = {}) {
    commands_.set_ended();
    device_.data.ending.finish(held_, commands_, region);
  }

  Device& device_;
  const Rows rows_;
  const CommandList::Use use_;
  Held held_;
  CommandList commands_;
};

// All of a construct whose call waits. False, and why: nothing has begun, and nothing of it is left.
template <typename Body> bool carry_out(Body&& body, std::string& reason) {
  const Placed placed = body.place();
  const std::optional<HandedOver> handed_over = body.hand_over(placed, reason);
  if (!handed_over) [[unlikely]] {
    body.abandon(placed);
    return false;
  }
  if (!body.commands().is_done()) [[unlikely]]
    if (const std::string failure = body.commands().wait(); !failure.empty())
      return !body.fail(*handed_over, failure, reason);
  body.finish(*handed_over);
  return true;
}

using observe::Action;

// All of a construct that moves data and runs no kernel, and whose call waits.
void carry_out(Action action, Device& device, Rows rows);
// One whose call returns before it has ended.
std::unique_ptr<Construct> data_construct_for_later(Action action, Device& device, Rows rows);

} // namespace omptool
