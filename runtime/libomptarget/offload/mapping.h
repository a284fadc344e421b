// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs that map: regions, and those that begin data. Their objects are found or made, counted and filled.
#pragma once

#include "data/table/row_ranges.h"
#include "offload/construct.h"

#include <string>
#include <vector>

namespace omptool {

class MappingConstruct : public Construct {
public:
  // Takes the construct's position among all constructs on the device (decision 24): its objects are found or made and
  // counted, and its commands come after what they wait for. A region whose call returns before it has ended releases
  // them in the same step, so that it is decided what is copied back. Then memory is allocated.
  Placed place() final {
    const bool is_bound = is_unordered() && (rows_.empty() || data().binder.bind_exactly(rows_, mapped_));
    if (!is_bound) [[unlikely]]
      place_in_order();
    if (mapped_.leaves_events || observe::heard()) [[unlikely]]
      make_room_in_order();
    else if (mapped_.creates)
      make_room();
    return placed();
  }

protected:
  using Construct::Construct;

  // Returns the variables that its kernel may use, beside the rows.
  virtual std::vector<HostRange> globals() const { return {}; }

  // Queues the copies to the device. False, and why: the device cannot hold all rows. They are still to be released,
  // and regions that name an object without a device copy run on the host.
  [[nodiscard]] bool copy_in(std::string& reason) {
    if (mapped_.creates) {
      for (std::size_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].maps())
          fill(rows_[i], mapped_.arguments[i]);
      if (!mapped_.leaves_events)
        publish();
    }
    if (mapped_.awaits && !mapped_.leaves_events) [[unlikely]]
      wait_for_others();
    if (mapped_.flags & kOwed)
      refresh();
    if (!mapped_.lacks) [[likely]] {
      commands_.set_filled();
      return true;
    }
    reason = missing_object(commands_.failure());
    commands_.set_filled(reason);
    return reason.empty();
  }
  // Returns the object of a placed construct that the device has no memory for, or "".
  std::string missing_object() { return mapped_.lacks ? missing_object({}) : std::string(); }
  // Stores device addresses for kReturn, where the memory is there.
  void return_pointers();
  // Undoes what has only copied to the device, once all that it queued has ended with `failure`, or "": what it created
  // is for the host alone. Returns which object the device has not, or "".
  std::string refuse(const std::string& failure);

  // Returns the kernel's argument for a kArgument row that is not private.
  void* kernel_argument(const Row& row, const Argument& argument) const {
    if (row.has(kValue))
      return row.base;
    const Object* const object = row.has(kPointer) ? argument.cell : argument.object;
    if (!object)
      return data().sharing.any() || row.has(kHostIfAbsent) ? row.base : nullptr;
    const void* named = row.has(kPointer) || (row.size == 0 && !row.has(kSection)) ? row.base : row.begin;
    return device_base(object->at(reinterpret_cast<std::uintptr_t>(named)), named, row.base);
  }

private:
  static constexpr std::uint32_t kOwed =
      kAlways | kAttach | kPointer; // flags of rows that may owe something to old objects

  [[gnu::noinline]] void place_in_order();
  // Gives memory to what this construct created; no lock is held, and nobody else looks at the objects. One that the
  // device has no room for is for the host alone.
  void make_room() {
    for (Argument& argument : mapped_.arguments)
      for (ArgumentObject* const one : argument.both())
        if (one->fresh)
          make_room(*one);
  }
  void make_room(ArgumentObject& fresh) {
    Object& object = *fresh;
    if (object.device() || object.is_unusable()) // by another row: nobody else writes that
      return;
    std::byte* const device = device_.memory.allocate(object.host().size(), object.host().address(), object.padding(),
                                                      object.is_enclosing() ? kStructAlignment : 1);
    if (!device) [[unlikely]]
      return break_own(fresh);
    object.give_memory(device);
  }
  [[gnu::noinline]] void make_room_in_order();
  // Fills what this construct created.
  void fill(const Row& row, Argument& argument) {
    if (argument.object.fresh && !argument.filled && !argument.repeated && row.has(kTo) && row.size > 0 &&
        !data().transfers.copy(Direction::kToDevice, *argument.object, common(range_of(row), argument.object->host()),
                               commands_)) [[unlikely]]
      break_own(argument.object);
    if (row.has(kPointer) && argument.cell.fresh && !data().transfers.attach(row, argument, commands_)) [[unlikely]]
      break_own(argument.cell);
  }
  void fill_early();
  // Tells others that what this construct created is complete.
  void publish() {
    for (std::size_t i = 0; mapped_.creates && i < rows_.size(); ++i) {
      Argument& argument = mapped_.arguments[i];
      if (argument.object.fresh)
        data().table.publish(*argument.object, rows_[i].has(kTo), mapped_.call());
      if (argument.cell.fresh) [[unlikely]]
        data().table.publish(*argument.cell, false, mapped_.call());
    }
  }
  void break_own(ArgumentObject& own);
  void wait_for_others();
  void refresh();
  bool attach_later(const Row& row, Argument& argument);
  std::string missing_object(const std::string& why);
};

} // namespace omptool
