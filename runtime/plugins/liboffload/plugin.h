// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This plugin's part of a process: the library, its devices, and the operations of its queues.
#pragma once

#include "common/plugin.h"
#include "library.h"
#include "queue.h"

#include <string>
#include <vector>

namespace omptool::liboffload {

class Plugin : public plugin::Plugin {
public:
  // Opens the library, where there may be a GPU for it.
  void find();
  // Returns the architectures of AMD's GPUs.
  std::vector<std::string> architectures() const;

  void await(const plugin::EventPtr& event, plugin::Events::Lock& lock) override;
  void look_at(const plugin::EventPtr& event, plugin::Events::Lock& lock) override;
  bool process() override { return queue.process(); }
  // Orders events across devices of a platform, which share them.
  bool can_order(const plugin::Device& from, const plugin::Device& to) const override;

  Library library;
  Queue queue{events, library};
};

} // namespace omptool::liboffload
