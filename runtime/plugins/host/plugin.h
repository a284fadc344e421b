// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This plugin's part of a process: devices, and the threads that run kernels and operations.
#pragma once

#include "common/plugin.h"
#include "kernels/crew.h"
#include "pool.h"
#include "queue.h"
#include "settings.h"

namespace omptool::host {

class Plugin : public plugin::Plugin {
public:
  Plugin();
  void await(const plugin::EventPtr& event, plugin::Events::Lock& lock) override;

  Pool pool;
  Crews crews;
  Queue queue{events, most_in_flight()};
};

} // namespace omptool::host
