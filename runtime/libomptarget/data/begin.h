// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beginning of a construct: its objects are found or made, counted and filled.
#pragma once

#include "data/binder.h"
#include "data/end.h"
#include "data/host_side.h"
#include "data/order.h"
#include "data/transfers.h"
#include "observe/sink.h"

#include <span>
#include <string>

namespace omptool {

class Begin {
public:
  Begin(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, Binder& binder, Order& order,
        Transfers& transfers, DivergedCopies& diverged, HostSide& host_side, End& end)
      : memory_(memory), sharing_(sharing), table_(table), binder_(binder), order_(order), transfers_(transfers),
        diverged_(diverged), host_side_(host_side), end_(end) {}

  // First the construct's position among all constructs on the device (decision 24): its objects are found or made and
  // counted, and its commands come after what they wait for. kThrough: they are released in the same step. Then memory
  // is allocated. A region's kernel may also use `globals`.
  void take_position(Rows rows, Held& held, Purpose purpose, Passage passage, CommandList& commands,
                     std::span<const HostRange> globals = {}) {
    const bool is_bound =
        !commands.leaves_events() && !table_.any_host_current() && (rows.empty() || binder_.bind_exactly(rows, held));
    if (!is_bound) [[unlikely]]
      place_in_order(rows, held, purpose, passage, commands, globals);
    if (held.creates || held.leaves_events || observe::heard())
      make_room(rows, held);
  }
  // Queues the copies to the device. False, and why: the device cannot hold all rows. They are still to be released,
  // and regions that name an object without a device copy run on the host.
  [[nodiscard]] bool copy_in(Rows rows, Held& held, Purpose purpose, CommandList& commands, std::string& reason) {
    const bool is_owed = held.creates || held.awaits || held.lacks || held.leaves_events || (held.flags & kOwed);
    return !is_owed || copy_in_owed(rows, held, purpose, commands, reason);
  }
  // Once the construct has its position: which object the device has no memory for, or "".
  std::string lacks(Held& held);
  // Stores device addresses for kReturn, where the memory is there.
  void return_pointers(Rows rows, Held& held);
  // Of a construct that has only copied to the device, once all that it queued has ended with `failure`, or "": what it
  // created is for the host alone. Returns which object the device has not, or "".
  std::string refuse(Rows rows, Held& held, const std::string& failure);

  // The kernel's argument for a kArgument row that is not private.
  void* argument(const Row& row, const Binding& binding) const;
  // Returns the value of the device's copy of a kAttach row's pointer; null: the pointee is not present.
  void* pointee(const Row& row, const Binding& binding) const;

private:
  static constexpr std::uint32_t kOwed =
      kAlways | kAttach | kPointer; // flags of rows that may owe something to old objects

  void fill_own(Rows rows, Held& held, CommandList& commands);
  void make_room(Rows rows, Held& held);
  bool copy_in_owed(Rows rows, Held& held, Purpose purpose, CommandList& commands, std::string& reason);
  void place_in_order(Rows rows, Held& held, Purpose purpose, Passage passage, CommandList& commands,
                      std::span<const HostRange> globals);
  void provide(Held& held);
  void provide(Mapping& mapping, bool& refused);
  void publish(Rows rows, Held& held);
  void publish(Mapping& mapping, bool is_written, Held& held);
  void wait_for_others(Held& held);
  void copy_in(const Row& row, Binding& binding, Held& held, CommandList& commands);
  bool attach_later(const Row& row, Binding& binding, CommandList& commands);
  std::string not_there(const Mapping& mapping, const std::string& why) const;
  std::string fault(Held& held, const std::string& why);
  bool refresh(Rows rows, Bindings& bound, Purpose purpose, CommandList& commands);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Binder& binder_;
  Order& order_;
  Transfers& transfers_;
  DivergedCopies& diverged_;
  HostSide& host_side_;
  End& end_;
};

} // namespace omptool
