// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beginning of a construct: its objects are found or made, counted and filled.
#pragma once

#include "data/data_step.h"
#include "data/end.h"
#include "data/host_side.h"
#include "data/transfers.h"
#include "observe/events/sink.h"

#include <span>
#include <string>

namespace omptool {

class Begin : DataStep {
public:
  Begin(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, DivergedCopies& diverged,
        Transfers& transfers, HostSide& host_side, End& end)
      : DataStep(memory, sharing, table, diverged), transfers_(transfers), host_side_(host_side), end_(end) {}

  // First the construct's position among all constructs on the device (decision 24): its objects are found or made and
  // counted, and its commands come after what they wait for. A region whose call returns before it has ended releases
  // them in the same step, so that it is decided what is copied back. Then memory is allocated. A region's kernel may
  // also use `globals`.
  void take_position(Rows rows, Held& held, Purpose purpose, CommandList& commands,
                     std::span<const HostRange> globals = {}) {
    const bool is_bound =
        !commands.leaves_events() && !table_.any_host_current() && (rows.empty() || binder_.bind_exactly(rows, held));
    if (!is_bound) [[unlikely]]
      place_in_order(rows, held, purpose, commands, globals);
    if (held.leaves_events || observe::heard()) [[unlikely]]
      make_room_in_order(rows, held);
    else if (held.creates)
      provide(held);
  }
  // Queues the copies to the device. False, and why: the device cannot hold all rows. They are still to be released,
  // and regions that name an object without a device copy run on the host.
  [[nodiscard]] bool copy_in(Rows rows, Held& held, Purpose purpose, CommandList& commands, std::string& reason) {
    if (held.creates) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].maps())
          copy_in(rows[i], held.bound[i], held, commands);
      if (!held.leaves_events)
        publish(rows, held);
    }
    if (held.awaits && !held.leaves_events) [[unlikely]]
      wait_for_others(held);
    if (held.flags & kOwed)
      refresh(rows, held, purpose, commands);
    if (!held.lacks) [[likely]] {
      commands.set_filled();
      return true;
    }
    reason = fault(held, commands.failure());
    commands.set_filled(reason);
    return reason.empty();
  }
  // Once the construct has its position: which object the device has no memory for, or "".
  std::string lacks(Held& held);
  // Stores device addresses for kReturn, where the memory is there.
  void return_pointers(Rows rows, Held& held);
  // Of a construct that has only copied to the device, once all that it queued has ended with `failure`, or "": what it
  // created is for the host alone. Returns which object the device has not, or "".
  std::string refuse(Rows rows, Held& held, const std::string& failure);

  // The kernel's argument for a kArgument row that is not private.
  void* argument(const Row& row, const Binding& binding) const {
    if (row.has(kValue))
      return row.base;
    const Object* const object = row.has(kPointer) ? binding.cell : binding.object;
    if (!object)
      return sharing_.any() || row.has(kHostIfAbsent) ? row.base : nullptr;
    const void* named = row.has(kPointer) || (row.size == 0 && !row.has(kSection)) ? row.base : row.begin;
    return device_base(object->at(reinterpret_cast<std::uintptr_t>(named)), named, row.base);
  }
  // Returns the value of the device's copy of a kAttach row's pointer; null: the pointee is not present.
  void* pointee(const Row& row, const Binding& binding) const;

private:
  static constexpr std::uint32_t kOwed =
      kAlways | kAttach | kPointer; // flags of rows that may owe something to old objects

  [[gnu::noinline]] void make_room_in_order(Rows rows, Held& held);
  void place_in_order(Rows rows, Held& held, Purpose purpose, CommandList& commands,
                      std::span<const HostRange> globals);
  // Gives memory to what this call created; no lock is held, and nobody else looks at the objects. One that the
  // device has no room for is for the host alone.
  void provide(Held& held) {
    for (Binding& binding : held.bound)
      for (RowObject* const one : binding.both())
        if (one->fresh)
          provide(*one, held);
  }
  void provide(RowObject& fresh, Held& held) {
    Object& object = *fresh;
    if (object.device() || object.is_unusable()) // by another row: nobody else writes that
      return;
    std::byte* const device = memory_.allocate(object.host().size(), object.host().address(), object.padding(),
                                               object.is_enclosing() ? kStructAlignment : 1);
    if (!device) [[unlikely]]
      return break_own(fresh, held);
    object.give_memory(device);
  }
  // Fills what this call created.
  void copy_in(const Row& row, Binding& binding, Held& held, CommandList& commands) {
    if (binding.object.fresh && !binding.filled && !binding.repeated && row.has(kTo) && row.size > 0 &&
        !transfers_.copy(Direction::kToDevice, *binding.object, common(range_of(row), binding.object->host()),
                         commands)) [[unlikely]]
      break_own(binding.object, held);
    if (row.has(kPointer) && binding.cell.fresh && !transfers_.attach(row, binding, commands)) [[unlikely]]
      break_own(binding.cell, held);
  }
  // Tells others that what this call created is complete.
  void publish(Rows rows, Held& held) {
    for (std::size_t i = 0; held.creates && i < rows.size(); ++i) {
      Binding& binding = held.bound[i];
      if (binding.object.fresh)
        table_.publish(*binding.object, rows[i].has(kTo), held.call());
      if (binding.cell.fresh) [[unlikely]]
        table_.publish(*binding.cell, false, held.call());
    }
  }
  void break_own(RowObject& own, Held& held);
  void fill_own(Rows rows, Held& held, CommandList& commands);
  void wait_for_others(Held& held);
  bool attach_later(const Row& row, Binding& binding, CommandList& commands);
  std::string fault(Held& held, const std::string& why);
  void refresh(Rows rows, Held& held, Purpose purpose, CommandList& commands);

  Transfers& transfers_;
  HostSide& host_side_;
  End& end_;
};

} // namespace omptool
