// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This plugin's part of a process: the driver, its devices, and the operations of its queues.
#pragma once

#include "common/plugin.h"
#include "driver/driver.h"
#include "queue.h"

#include <vector>

namespace omptool::cuda {

class Plugin : public plugin::Plugin {
public:
  // Opens the driver.
  void find();
  std::vector<int> capabilities() const;

  void await(const plugin::EventPtr& event, plugin::Events::Lock& lock) override;
  void look_at(const plugin::EventPtr& event, plugin::Events::Lock& lock) override;
  bool process() override;

  Driver driver;
  Queue queue{events};

private:
  Outcome find_devices();
};

} // namespace omptool::cuda
