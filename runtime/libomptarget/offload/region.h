// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region on its way through a device, with rows of every kind: its place among the constructs, its copies and its
// kernel on a queue, its end. One that the caller waits for and an asynchronous one take the same steps.
#pragma once

#include "devices/registry.h"
#include "offload/arguments.h"
#include "offload/private_copies.h"
#include "rtl/command_list.h"
#include "rtl/launch_shape.h"

#include <string>

namespace omptool {

class Region {
public:
  // All that is named here has to live as long as this.
  Region(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const LaunchShape& shape,
         CommandList::Use use);

  // First. kThrough: the region's objects are released at once, though they are used until finish().
  void take_position(Passage passage);
  // Then, of an asynchronous one whose objects have their memory, what else its call settles: memory for private
  // copies, what the kernel gets, addresses that are returned. Returns why it cannot run, or "".
  std::string resolve_arguments();
  // After that: private data is read now, and not when the copies are queued.
  void read_private();
  // Queues the copies to the device and the kernel. Returns why the kernel has not begun and will not, or "".
  std::string start();
  // After start() has failed: waits for what is queued, and undoes it.
  void abandon();
  // Else: queues the copies back.
  void queue_end();
  // All has ended; a failure, if not "", ends the program.
  void finish(const std::string& failure);

  CommandList& commands() { return commands_; }
  Held& held() { return held_; }

private:
  std::string collect();
  std::string fill_private();
  std::string run();

  Device& device_;
  const Kernel& kernel_;
  const Resolved there_;
  const Rows rows_;
  const LaunchShape shape_;
  Held held_;
  PrivateCopies copies_;
  Arguments arguments_;
  bool released_ = false;
  bool resolved_ = false;
  CommandList commands_; // last: what it uses outlives it
};

} // namespace omptool
