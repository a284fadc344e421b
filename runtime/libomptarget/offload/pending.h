// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct that has taken its place, and whose operations follow when its call has returned (decision 24). On a
// device with queues they are handed over as soon as the device can order them behind what they wait for; on any other
// a worker does them when that has ended.
#pragma once

#include "offload/construct.h"
#include "offload/outstanding.h"
#include "offload/placement.h"
#include "offload/region.h"
#include "per_row.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace omptool {

class Pending : public std::enable_shared_from_this<Pending> {
public:
  // The rows are copied.
  Pending(Action action, Device& device, Rows rows, tgt_callback_param_t param);
  // A region; what its kernel names is kept from being unloaded.
  Pending(Device& device, Placement placement, std::shared_ptr<const Kernel> kernel, const Resolved& there, Rows rows,
          const AskedShape& shape, tgt_callback_param_t param);

  CommandList& commands() { return construct_.commands(); }
  // Counts, allocates, returns addresses. False, and why: it cannot be done on the device.
  [[nodiscard]] bool place(std::string& reason);
  // Once it has been placed. False, and why: it will not be done. Else it is outstanding, and ends by itself.
  [[nodiscard]] bool go(std::string& reason);
  // It has not gone: undoes its place, when all that it should come after has ended.
  void abandon();

private:
  bool wait_for_turn();
  void run_later();
  bool start(std::string& reason);
  void end(const std::string& failure);

  Device& device_;
  PerRow<Row, 4> rows_;
  const outstanding::Callback callback_;
  observe::Rest observed_;  // once it has gone
  bool is_chained_ = false; // it is handed over as soon as the device can order it behind what it awaits
  // Of a region:
  Placement placement_;
  const std::shared_ptr<const Kernel> kernel_;
  const Resolved there_;
  const LaunchShape shape_;
  const AskedShape asked_{shape_};

  // One of them, which goes before what it names:
  const std::unique_ptr<Construct> data_;
  std::optional<Region> region_;
  Construct& construct_;
  std::optional<Placed> placed_;
  std::optional<HandedOver> handed_over_;
  std::shared_ptr<Pending> itself_; // while the device has its operations
};

} // namespace omptool
