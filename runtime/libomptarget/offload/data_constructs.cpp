// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs that move data and run no kernel: begin, end and update. They have no host version: what they cannot
// do ends the program, or is for the regions to find.
#include "data/order.h"
#include "offload/fallback.h"
#include "offload/mapping.h"
#include "process/read_only.h"

#include <cstring>
#include <utility>

namespace omptool {
namespace {

class Begin final : public MappingConstruct {
public:
  Begin(Device& device, Rows rows, Waits waits) : MappingConstruct(device, rows, waits) {}
  bool resolve(const Placed&, std::string&) override {
    print(missing_object());
    return_pointers();
    return true;
  }
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    if (std::string failure; !copy_in(failure))
      print(failure);
    return handed_over();
  }
  void finish(HandedOver) override {
    if (!commands_.is_later() && (mapped_.flags & kReturn))
      return_pointers();
    end();
  }
  // One object that the device does not take leaves the others' addresses as they are.
  bool fail(HandedOver handed_over, const std::string& failure, std::string&) override {
    const std::string refused = refuse(failure);
    commands_.set_ended(failure);
    finish(handed_over);
    print(refused);
    return false;
  }

private:
  // Prints once which object the device does not have, if any: regions that use it run on the host.
  void print(const std::string& failure) {
    if (failure.empty() || std::exchange(is_printed_, true))
      return;
    insist_on_data(failure);
    say("%s lacks an object, and regions that use it run on the host: %s", device_.describe().c_str(), failure.c_str());
  }

  bool is_printed_ = false;
};

class End final : public Construct {
public:
  using Construct::Construct;
  // Finds what rows that an earlier construct mapped refer to, and releases them.
  Placed place() override {
    if (!is_unordered() || !data().binder.find_exactly(rows_, mapped_, false)) [[unlikely]]
      place_in_order();
    else
      release();
    return placed();
  }
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    copy_back();
    return handed_over();
  }

private:
  [[gnu::noinline]] void place_in_order() {
    HostFallback::end();
    {
      Lock lock(data().table);
      data().binder.bind_known(rows_, mapped_, false, lock);
      come_after_others(mapped_, commands_, data().table, lock);
      release_in_order(rows_.size(), lock);
    }
    if (observe::heard()) [[unlikely]]
      report(Seen::kReleased);
  }
};

// Copies between the two sides of objects that are there.
class Update final : public Construct {
public:
  using Construct::Construct;
  Placed place() override {
    const bool is_reported = observe::heard();
    const bool is_exact = is_unordered();
    if (is_exact && !is_reported && mapped_.all_plain && rows_.size() == 1 && move_few(rows_.front()))
      return placed();
    if (!is_exact || !data().binder.find_exactly(rows_, mapped_, true)) [[unlikely]]
      place_in_order();
    if (is_reported) [[unlikely]]
      report(Seen::kUpdated);
    return placed();
  }
  // Queues the copies. A failure ends the program.
  std::optional<HandedOver> hand_over(Placed, std::string&) override {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Argument& argument = mapped_.arguments[i];
      // An object that only the host has is not brought up to date.
      if (!argument.object || (argument.host_current && !argument.object->is_usable())) [[unlikely]]
        continue;
      const HostRange there = common(range_of(rows_[i]), argument.object->host());
      for (const Direction direction : {Direction::kToDevice, Direction::kToHost})
        if (rows_[i].has(direction == Direction::kToDevice ? kTo : kFrom) &&
            !data().fallback.copy(direction, *argument.object, there, commands_)) [[unlikely]]
          fail_to_copy(direction, *argument.object);
    }
    return handed_over();
  }

private:
  // Moves a few bytes while the object is found, so that nothing is left to copy, or to unpin.
  bool move_few(const Row& row) {
    constexpr std::int64_t kFew = 256;
    if (!row.maps() || row.size > kFew || !device_.memory.moves_itself())
      return false;
    const HostRange range = range_of(row);
    Object* const object = data().table.hinted(row);
    return object && object->use(range, row.has(kTo), [&] {
      if (!object->device() || object->has_own_value() || object->has_details()) [[unlikely]]
        return false;
      const std::size_t size = static_cast<std::size_t>(row.size);
      if (row.has(kTo))
        std::memmove(object->at(range.begin), row.begin, size);
      if (row.has(kFrom) && !read_only_memory.hold(range.begin))
        std::memmove(row.begin, object->at(range.begin), size);
      return true;
    });
  }
  [[gnu::noinline]] void place_in_order() {
    HostFallback::end();
    Lock lock(data().table);
    data().binder.bind_known(rows_, mapped_, true, lock);
    come_after_others(mapped_, commands_, data().table, lock);
    for (std::size_t i = 0; i < rows_.size() && mapped_.leaves_events; ++i)
      if (mapped_.arguments[i].object)
        leave_events(*mapped_.arguments[i].object, rows_[i].has(kTo), rows_[i].has(kFrom), commands_, lock);
  }
  [[noreturn]] void fail_to_copy(Direction direction, const Object& object) {
    const std::string name = describe(object), why = commands_.failure();
    if (direction == Direction::kToDevice)
      die("updating the device's copy of %s failed%s", name.c_str(), why.c_str());
    die("updating %s from the device failed%s", name.c_str(), why.c_str());
  }
};

} // namespace

// The steps are one function here: their bounds cost as much as they do themselves.
[[gnu::flatten]] void carry_out(Action action, Device& device, Rows rows) {
  std::string none; // they are never abandoned
  if (action == Action::kEnterData)
    carry_out(Begin(device, rows, Waits::kNow), none);
  else if (action == Action::kExitData)
    carry_out(End(device, rows, Waits::kNow), none);
  else
    carry_out(Update(device, rows, Waits::kNow), none);
}

std::unique_ptr<Construct> data_construct_for_later(Action action, Device& device, Rows rows) {
  if (action == Action::kEnterData)
    return std::make_unique<Begin>(device, rows, Waits::kLater);
  if (action == Action::kExitData)
    return std::make_unique<End>(device, rows, Waits::kLater);
  return std::make_unique<Update>(device, rows, Waits::kLater);
}

} // namespace omptool
