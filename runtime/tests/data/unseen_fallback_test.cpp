// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region and another thread's fallback use memory that nobody has written, and nothing orders the two: each writes an
// element of its own, and both arrive.
#include "data/memmove_plugin.h"
#include "devices/registry.h"
#include "offload/mapping.h"

#include <atomic>
#include <doctest/doctest.h>
#include <thread>

using namespace omptool;

namespace {

// The first element is the region's, the second one that of the host version.
struct Shared {
  Shared() {
    device.memory.shares_host_memory();
    carry_out(Action::kEnterData, device, rows());
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  Rows rows() const { return {&row, 1}; }
  // Returns whether both are there at the end.
  bool have_arrived() {
    carry_out(Action::kExitData, device, rows());
    return values[0] == 10 && values[1] == 20;
  }

  MemmovePlugin fake;
  Device device{0, fake.plugin, 0};
  int values[2] = {1, 2};
  Row row{values, values, sizeof values, kFrom | kCounts};
};

// Neither kernels nor the program's host versions are instrumented: a fallback reads what one may be writing.
__attribute__((no_sanitize("thread"))) void write(int& place, int value) {
  place = value;
}

const std::string own_name = "region";

// A region whose steps the test takes one by one.
class Step final : public MappingConstruct {
public:
  explicit Step(Shared& shared)
      : MappingConstruct(shared.device, shared.rows(), Waits::kNow, &own_name), shared_(shared) {
    std::string reason;
    CHECK(copy_in(reason));
  }
  void note() {
    data().activity.note();
    if (data().table.any_host_current())
      CHECK(data().fallback.to_device(mapped_, {}, commands_) == "");
  }
  void run() {
    std::byte* const there = mapped_.arguments[0].object->at(reinterpret_cast<std::uintptr_t>(shared_.values));
    write(*reinterpret_cast<int*>(there), 10);
  }
  void leave() {
    std::string none;
    finish(*hand_over(placed_, none));
  }
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    release();
    copy_back();
    return handed_over();
  }

private:
  Shared& shared_;
  const Placed placed_ = place();
};

// The host versions of other threads' regions, which stay in them.
void fall_back(Shared& shared) {
  shared.device.data.fallback.to_host(shared.rows(), {}, "other");
  write(shared.values[1], 20);
}

} // namespace

TEST_CASE("a fallback begins between a region's position and its kernel") {
  Shared shared;
  Step region(shared);
  std::thread(fall_back, std::ref(shared)).join();
  region.note();
  region.run();
  region.leave();
  CHECK(shared.have_arrived());
}

TEST_CASE("a fallback begins between a region's note and its kernel") {
  Shared shared;
  Step region(shared);
  region.note();
  std::thread(fall_back, std::ref(shared)).join();
  region.run();
  region.leave();
  CHECK(shared.have_arrived());
}

TEST_CASE("a fallback begins while a region does") {
  int arrived = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    Shared shared;
    std::atomic<bool> begin{false};
    std::thread other([&] {
      while (!begin.load(std::memory_order_relaxed))
        std::this_thread::yield();
      fall_back(shared);
    });
    begin.store(true, std::memory_order_relaxed);
    Step region(shared);
    region.note();
    region.run();
    region.leave();
    other.join();
    arrived += shared.have_arrived();
  }
  CHECK(arrived == kRounds);
}
