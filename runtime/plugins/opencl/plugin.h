// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This plugin's part of a process: OpenCL's loader, its devices, and the operations of its queues.
#pragma once

#include "cl.h"
#include "common/plugin.h"
#include "queue.h"

namespace omptool::opencl {

class Plugin : public plugin::Plugin {
public:
  // Opens the loader and asks the drivers.
  void find();

  void await(const plugin::EventPtr& event, plugin::Events::Lock& lock) override {
    queue.await(static_cast<Operation&>(*event), lock);
  }
  void look_at(const plugin::EventPtr& event, plugin::Events::Lock&) override {
    queue.look_at(static_cast<Operation&>(*event));
  }
  // Orders only events of one device: events belong to a context, and each device has its own.
  bool can_order(const plugin::Device& from, const plugin::Device& to) const override { return &from == &to; }

  Loader cl;
  Queue queue{events, cl};
};

} // namespace omptool::opencl
