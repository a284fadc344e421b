// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct on its way through a device: a region, or one that begins, ends or updates data. Each has one body, whose
// steps calls that wait drive to the end, and asynchronous ones as far as they can. A step takes what the step before
// it has returned, so that a wrong order does not compile.
#pragma once

#include "data/arguments.h"
#include "data/table/range_set.h"
#include "devices/registry.h"
#include "observe/events/sink.h"
#include "process/message.h"
#include "rtl/command_list.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace omptool {

// Proves that a construct has its position among the constructs, and that its objects are counted.
class [[nodiscard]] Placed {
  friend class Construct;
  Placed() = default;
};
// Proves that the device has all its operations.
class [[nodiscard]] HandedOver {
  friend class Construct;
  HandedOver() = default;
};

// Calls that wait call the functions of the final classes, without a look into a table.
class Construct {
public:
  // Keeps references to its arguments. `region`: name of the region; null for a construct that is none.
  Construct(Device& device, Rows rows, Waits waits, const std::string* region = nullptr)
      : device_(device), rows_(rows), region_(region), mapped_(rows), commands_(device.memory, waits) {}
  virtual ~Construct() = default;
  Construct(const Construct&) = delete;
  Construct& operator=(const Construct&) = delete;

  virtual Placed place() = 0;
  // Decides what an asynchronous call decides before it returns: addresses, memory for private copies. False, and why:
  // the construct has to be abandoned.
  virtual bool resolve(const Placed&, std::string&) { return true; }
  // Queues what the device is to do. Nothing, and why: it has not begun, and has to be abandoned.
  virtual std::optional<HandedOver> hand_over(Placed, std::string& reason) = 0;
  // Waits for what is queued, and undoes it.
  virtual void abandon(Placed) {}
  // All has ended.
  virtual void finish(HandedOver) { end(); }
  // An operation has failed. Returns true, and why, if nothing of the construct has begun, because that is the failure
  // of one before it (decision 32): nothing of it is left then. Ends the program where it cannot go on.
  virtual bool fail(HandedOver, const std::string& failure, std::string&) { die("%s", failure.c_str()); }
  // Returns how messages name it.
  virtual std::string name() const { return "an asynchronous data call"; }

  CommandList& commands() { return commands_; }

protected:
  using Lock = PresentTable::Lock;
  using Seen = observe::RowsSeen::Kind;

  static Placed placed() { return {}; }
  HandedOver handed_over() {
    commands_.set_handed_over();
    return {};
  }
  // Nothing has to be ordered, so that exact matches do.
  bool is_unordered() const { return !commands_.leaves_events() && !data().table.any_host_current(); }
  void report(Seen kind);

  // ---- the end of a construct: what nobody refers to any more is copied back and goes ----

  // Drops the references, each by its object's lock alone where nothing is queued on the object.
  void release() {
    const bool is_reported = observe::heard() && !rows_.empty();
    std::size_t pending = rows_.size();
    while (pending > 0 && !mapped_.leaves_events && release_row(pending - 1, is_reported))
      --pending;
    if (pending > 0) [[unlikely]]
      release_in_order(pending);
    if (is_reported) [[unlikely]]
      report(Seen::kReleased);
  }
  // Drops those of the first `pending` rows by the table's lock. The caller reports when that is released.
  void release_in_order(std::size_t pending, Lock& lock);
  // Queues the copies back. A failure ends the program.
  void copy_back() {
    if (!mapped_.any_leaves && !(mapped_.flags & kAlways))
      return;
    std::optional<RangeSet> by_leaving; // what rows that release objects copy back
    for (std::size_t i = rows_.size(); i-- > 0;) {
      const Row& row = rows_[i];
      Object* const object = mapped_.arguments[i].object;
      if (!object || !row.maps() || !row.has(kFrom) || row.size <= 0)
        continue;
      // Read only of an object that is pinned: release_row() unpins others, and their records may be in use again.
      const auto there = [&] { return common(range_of(row), object->host()); };
      const bool is_last = mapped_.arguments[i].object.leaves;
      bool is_wanted = !is_abandoned_;
      if (is_last || mapped_.releases(*object)) {
        is_wanted = is_wanted || holds_results(*object);
        if (!is_last && is_wanted && !by_leaving) [[unlikely]]
          by_leaving = copied_back();
        is_wanted = is_wanted && (is_last || !by_leaving->contains(there()));
      } else {
        is_wanted = is_wanted && row.has(kAlways);
      }
      if (is_wanted && !data().fallback.copy(Direction::kToHost, *object, there(), commands_)) [[unlikely]]
        fail_to_copy_back(*object);
    }
  }
  // All that was queued has ended: unpins the objects, and unmaps those that leave. No lock may be held.
  void end() {
    commands_.set_ended();
    for (const Argument& one : mapped_.arguments) {
      if (one.object && !one.object.leaves && one.pinned)
        data().table.unpin(*one.object);
      if (one.cell && !one.cell.leaves) [[unlikely]]
        data().table.unpin(*one.cell);
    }
    if (mapped_.departs) [[unlikely]]
      forget_departures();
    if (!mapped_.any_leaves)
      return;
    const std::string_view region = region_ ? std::string_view(*region_) : std::string_view();
    for (Argument& argument : mapped_.arguments)
      for (ArgumentObject* const one : argument.both())
        if (one->leaves)
          unmap(**one, region);
  }

  DeviceData& data() const { return device_.data; }

  Device& device_;
  const Rows rows_;
  const std::string* const region_;
  MappedArguments mapped_;
  CommandList commands_;
  bool is_abandoned_ = false; // nothing has run: only what other constructs have left is copied back

private:
  Object::Uncount of_object(const Row& row) const {
    return {row.has(kHold), row.any(kCounts | kPointer), row.has(kDelete) && !is_abandoned_};
  }
  // Releases a row by its object's lock alone. `is_reported`: listeners have yet to see the object. False: operations
  // on the object are queued, or the row has a cell, too, and nothing has been done.
  bool release_row(std::size_t index, bool is_reported) {
    const Row& row = rows_[index];
    Argument& argument = mapped_.arguments[index];
    if (argument.cell) [[unlikely]]
      return false;
    if (!argument.object || !row.maps())
      return true;
    const bool is_over = !row.has(kAlways) && !is_reported; // nothing more is done with it for this row, if it stays
    switch (argument.object->uncount(of_object(row), is_over, mapped_.call())) {
    case Object::Left::kQueued:
      return false;
    case Object::Left::kLeaves:
      mapped_.any_leaves = argument.object.leaves = true;
      break;
    case Object::Left::kUnpinned:
      argument.pinned = false;
      break;
    case Object::Left::kStays:
      break;
    }
    return true;
  }
  [[gnu::noinline]] void release_in_order(std::size_t pending);
  bool holds_results(const Object& object);
  RangeSet copied_back();
  [[noreturn]] void fail_to_copy_back(const Object& object);
  void unmap(Object& object, std::string_view region) {
    const HostRange host = object.host(); // a vacant record is anybody's
    const std::ptrdiff_t padding = object.padding();
    if (std::byte* const device = data().table.leave(object, region))
      device_.memory.release(device, host.address(), host.size(), region, padding);
  }
  void forget_departures();
};

// Carries out a construct whose call waits. False, and why: nothing has begun, and nothing of it is left.
template <typename Body> bool carry_out(Body&& body, std::string& reason) {
  const Placed placed = body.place();
  const std::optional<HandedOver> handed_over = body.hand_over(placed, reason);
  if (!handed_over) [[unlikely]] {
    body.abandon(placed);
    return false;
  }
  if (!body.commands().is_done()) [[unlikely]]
    if (const std::string failure = body.commands().wait(); !failure.empty())
      return !body.fail(*handed_over, failure, reason);
  body.finish(*handed_over);
  return true;
}

using observe::Action;

// Carries out a construct that moves data and runs no kernel, and whose call waits.
void carry_out(Action action, Device& device, Rows rows);
// Makes one whose call returns before it has ended.
std::unique_ptr<Construct> data_construct_for_later(Action action, Device& device, Rows rows);

} // namespace omptool
