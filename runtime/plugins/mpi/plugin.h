// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/plugin.h"
#include "image.h"
#include "queue.h"

namespace omptool::mpi {

class Plugin final : public plugin::Plugin {
public:
  explicit Plugin(Session session);

  void await(const plugin::EventPtr& event, plugin::Events::Lock& lock) override { queue.await(*event, lock); }
  void look_at(const plugin::EventPtr& event, plugin::Events::Lock& lock) override {
    if (!event->is_done)
      queue.progress(lock);
  }
  bool process() override;
  bool can_order(const plugin::Device& from, const plugin::Device& to) const override;

  Queue queue;
  ImageStore images{queue};
};

} // namespace omptool::mpi
