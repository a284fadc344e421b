// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks which objects the short ways take, on a device like the CPU: those that no asynchronous construct uses.
#include "data/binder.h"
#include "data/memmove_plugin.h"
#include "devices/registry.h"
#include "offload/construct.h"

#include <doctest/doctest.h>

using omptool::Action;
using omptool::CommandList;
using omptool::Device;
using omptool::Held;
using omptool::Purpose;
using omptool::Release;
using omptool::Row;

namespace {

// An object that is there.
struct Present {
  Present() {
    device.memory.shares_host_memory();
    begin();
  }
  ~Present() { end(); }
  Present(const Present&) = delete;
  Present& operator=(const Present&) = delete;

  void begin() { carry_out(Action::kEnterData, device, {&row, 1}); }
  void end() { carry_out(Action::kExitData, device, {&row, 1}); }
  void update() { carry_out(Action::kUpdate, device, {&row, 1}); }

  bool takes_the_short_way() {
    CommandList commands(device.memory);
    Held held({&row, 1});
    const bool taken = omptool::Binder(device.data.table, device.data.sharing).bind_exactly({&row, 1}, held);
    device.data.ending.release({&row, 1}, held, Release::kNormal, commands);
    device.data.ending.finish(held, commands);
    return taken;
  }

  MemmovePlugin fake;
  Device device{0, fake.plugin, 0};
  int number = 1;
  Row row{&number, &number, sizeof number, omptool::kTo | omptool::kFrom | omptool::kCounts};
};

// A region that is not over before this goes.
class Later {
public:
  explicit Later(Present& present) : present_(present), commands_(present.device.memory, CommandList::Use::kLater) {
    present_.device.data.beginning.take_position({&present_.row, 1}, held_, Purpose::kRegion, commands_);
  }
  ~Later() {
    std::string reason;
    CHECK(present_.device.data.beginning.copy_in({&present_.row, 1}, held_, Purpose::kRegion, commands_, reason));
    commands_.set_handed_over();
    present_.device.data.ending.finish(held_, commands_);
  }
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

private:
  Present& present_;
  CommandList commands_;
  Held held_{{&present_.row, 1}};
};

} // namespace

TEST_CASE("an object goes the short way again when the asynchronous regions that use it are over") {
  Present present;
  CHECK(present.takes_the_short_way());
  {
    const Later one(present);
    CHECK_FALSE(present.takes_the_short_way());
    {
      const Later other(present);
    }
    present.begin(); // one is not over
    CHECK_FALSE(present.takes_the_short_way());
  }
  present.end(); // a long way finds out that both are
  CHECK(present.takes_the_short_way());
}

TEST_CASE("an update finds out as well") {
  Present present;
  {
    const Later one(present);
  }
  present.update();
  CHECK(present.takes_the_short_way());
}
