// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks which objects the short ways take, on a device like the CPU: those that no asynchronous construct uses.
#include "data/memmove_plugin.h"
#include "devices/registry.h"
#include "offload/mapping.h"

#include <doctest/doctest.h>

using namespace omptool;

namespace {

// A construct that only tries the short way.
class Probe final : public Construct {
public:
  using Construct::Construct;
  Placed place() override {
    is_bound = data().binder.bind_exactly(rows_, mapped_);
    return placed();
  }
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    release();
    return handed_over();
  }
  bool is_bound = false;
};

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
    std::string none;
    Probe probe(device, {&row, 1}, Waits::kNow);
    carry_out(probe, none);
    return probe.is_bound;
  }

  MemmovePlugin fake;
  Device device{0, fake.plugin, 0};
  int number = 1;
  Row row{&number, &number, sizeof number, kTo | kFrom | kCounts};
};

const std::string own_name = "region";

// A region that is not over before this goes.
class Later final : public MappingConstruct {
public:
  explicit Later(Present& present) : MappingConstruct(present.device, {&present.row, 1}, Waits::kLater, &own_name) {}
  ~Later() override {
    std::string none;
    finish(*hand_over(placed_, none));
  }
  std::optional<HandedOver> hand_over(Placed, std::string& reason) override {
    CHECK(copy_in(reason));
    return handed_over();
  }

private:
  const Placed placed_ = place();
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
