// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of one device: the plugin's data functions, with the device's number in front. If those do nothing, which a
// plugin for shared memory may choose, this class copies where needed, because variables of an image have addresses of
// their own even then.
#pragma once

#include "observe/events/sink.h"
#include "observe/memory_guard.h"
#include "rtl/rtl.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace omptool {

class DeviceMemory {
public:
  DeviceMemory(const Rtl& rtl, std::int32_t rtl_id, int number = 0) : rtl_(rtl), rtl_id_(rtl_id), number_(number) {}

  // Inline: most objects are small, and a call costs as much as moving them.

  // Allocates memory. Returns null if the device has no room, and for sizes below one byte. `host` is the host memory
  // that it is a copy of, if any. `padding`: bytes in front of the memory, the same for free(). `alignment`: the least
  // for a guarded block.
  std::byte* allocate(std::int64_t size, const void* host = nullptr, std::ptrdiff_t padding = 0,
                      std::size_t alignment = 1) const {
    if (size <= 0)
      return nullptr;
    return reported(Kind::kAllocate, host, nullptr, size, [=, this]() -> std::byte* {
      if (is_lost()) [[unlikely]]
        return nullptr;
      if (observe::MemoryGuard* const guard = guard_) [[unlikely]]
        if (std::byte* const guarded =
                guard->allocate({number_, host, static_cast<std::size_t>(size), static_cast<std::size_t>(padding),
                                 alignment, observe::Within::current()}))
          return guarded;
      const std::int64_t all = size + padding;
      auto* const begin = static_cast<std::byte*>(inactive_ ? std::malloc(static_cast<std::size_t>(all))
                                                            : call().data_alloc(rtl_id_, all));
      return begin ? begin + padding : nullptr;
    });
  }
  bool submit(void* device, const void* host, std::int64_t size) const {
    return reported(Kind::kToDevice, host, device, size, [=, this] { return move_now(kSubmit, device, host, size); });
  }
  bool retrieve(void* host, const void* device, std::int64_t size) const {
    return reported(Kind::kFromDevice, host, device, size,
                    [=, this] { return move_now(kRetrieve, host, device, size); });
  }
  // Frees the memory. Returns false if the device could not free it.
  bool free(void* device, std::ptrdiff_t padding = 0) const {
    return reported(Kind::kFree, nullptr, device, 0, [=, this] {
      if (observe::MemoryGuard* const guard = guard_; guard && guard->release(device)) [[unlikely]]
        return true;
      std::byte* const begin = static_cast<std::byte*>(device) - padding;
      if (!inactive_)
        return is_lost() || call().data_delete(rtl_id_, begin) == 0;
      std::free(begin);
      return true;
    });
  }
  // Frees memory. If the device cannot, the memory is lost, and a message names the host object whose copy it was, and
  // the region for which it was, if any: the results are right (decision 23).
  void release(void* device, const void* host, std::int64_t size, std::string_view region = {},
               std::ptrdiff_t padding = 0) const {
    if (!free(device, padding)) [[unlikely]]
      tell_of_leak(host, size, region);
  }
  // Sets each byte to the value.
  bool fill(void* device, int value, std::int64_t size) const;
  // From another device's memory, or this one's, which do not overlap.
  bool copy_from(void* device, const DeviceMemory& other, const void* source, std::int64_t size) const;
  // Returns whether one function may copy a rectangle; null is the host.
  static bool copies_rectangles(const DeviceMemory* to, const DeviceMemory* from);
  // Copies a rectangle by the plugin's function. Returns nothing if there is no such function for this copy.
  static std::optional<bool> copy_rectangle(const DeviceMemory* to, void* target, const DeviceMemory* from,
                                            const void* source, const tgt_rectangle& rectangle);
  // Returns whether host addresses are device addresses: asks the plugin, and sends a few bytes there and back, which
  // data functions that do nothing do not move (device-rtl-interface.tex, last paragraph). To be asked before the
  // device is used.
  bool shares_host_memory();
  // Asks the guard, if there is one, to allocate the objects. `is_shared` is the answer of shares_host_memory().
  void guard_objects(bool is_shared);
  // Notes an operation that the device was asked for.
  void note(const observe::Operation& operation) const {
    const bool writes =
        operation.kind == Kind::kToDevice || operation.kind == Kind::kFill || operation.kind == Kind::kBetweenDevices;
    const bool reads = operation.kind == Kind::kFromDevice && operation.queue == 0; // now
    if (observe::MemoryGuard* const guard = guard_; guard && (reads || writes))
      guard->note_use(operation.there, static_cast<std::size_t>(operation.size), writes);
  }
  // Returns whether the plugin gets the shape of kernels by OpenMP compilers.
  bool takes_shapes() const { return takes_shapes_; }
  // Returns whether this thread makes each copy itself, at once.
  bool moves_itself() const { return moves_itself_; }
  // Returns whether kernels can use the host's memory.
  bool reaches_host() const { return says(call().reaches_host_memory, true); }
  // Returns whether kernels that an OpenMP compiler made for a CPU cannot use the host's memory.
  bool is_separate() const { return !takes_shapes_ && call().run_shaped && !reaches_host(); }
  // Returns whether the host can use the addresses that allocate() returns.
  bool is_addressable() const { return inactive_ || says(call().memory_is_addressable); }
  std::string last_error() const { return is_lost() ? " (the device is lost)" : rtl_.last_error(); }
  // Returns whether the plugin has reported the device lost (decision 23).
  bool is_lost() const { return lost_.load(std::memory_order_relaxed); }
  // Returns whether a call of the plugin's with this result has succeeded; notes that the device is lost.
  bool took(std::int32_t result) const {
    if (result == OMPTARGET_RTL_DEVICE_LOST) [[unlikely]]
      note_loss();
    return result == 0;
  }
  // Runs the work, between two events if there is a listener. The result is false, or null, if it fails. The work is
  // passed by value: what it captures stays in registers if there is no listener.
  template <typename Work>
  std::invoke_result_t<Work> reported(observe::Operation::Kind kind, const void* host, const void* there,
                                      std::int64_t size, Work work, int from = -1) const {
    if (observe::heard()) [[unlikely]]
      return run_reported(kind, host, there, size, work, from);
    return work();
  }
  // Number of the device, as the program counts devices.
  int number() const { return number_; }
  // Returns whether operations are chained by the plugin's events.
  bool chains() const { return chains_.load(std::memory_order_relaxed); }
  const Rtl& rtl() const { return rtl_; }
  const RtlFunctions& call() const { return rtl_.call(); }
  std::int32_t rtl_id() const { return rtl_id_; }

private:
  using Kind = observe::Operation::Kind;

  // Runs the work between two events. Out of line, so that it costs nothing without a listener.
  template <typename Work>
  [[gnu::noinline]] std::invoke_result_t<Work> run_reported(Kind kind, const void* host, const void* there,
                                                            std::int64_t size, Work work, int from) const {
    observe::Operation operation{kind, number_, host, there, size};
    operation.from = from;
    observe::begin(operation);
    note(operation);
    const auto result = work();
    if constexpr (std::is_pointer_v<std::invoke_result_t<Work>>)
      operation.there = result;
    observe::end(operation, result);
    return result;
  }
  // Mover: a plugin function that moves bytes.
  using Mover = decltype(RtlFunctions::data_submit) RtlFunctions::*;
  static constexpr Mover kSubmit = &RtlFunctions::data_submit, kRetrieve = &RtlFunctions::data_retrieve;
  // Copies bytes without an event.
  bool move_now(Mover mover, void* to, const void* from, std::int64_t size) const {
    if (!moves_itself_)
      return move_by_rtl(mover, to, from, size);
    std::memmove(to, from, static_cast<std::size_t>(size));
    return true;
  }
  bool move_by_rtl(Mover mover, void* to, const void* from, std::int64_t size) const;
  // Calls a plugin's optional function. Returns nothing if the caller's fallback has to do its work.
  template <typename Function, typename... Values>
  std::optional<bool> try_now(Function function, Values... values) const {
    const std::int32_t result = is_lost() ? OMPTARGET_RTL_DEVICE_LOST : function(values...);
    return result == OMPTARGET_RTL_NOT_STARTED ? std::nullopt : std::optional(took(result));
  }
  bool copy_through_host(void* device, const DeviceMemory& other, const void* source, std::int64_t size) const;
  // Returns the plugin's answer about the device, by an optional function.
  template <typename Question> bool says(const Question& asked, bool otherwise = false) const {
    return asked ? asked(rtl_id_) != 0 : otherwise;
  }
  void note_loss() const;
  void tell_of_leak(const void* host, std::int64_t size, std::string_view region) const;

  const Rtl& rtl_;
  std::int32_t rtl_id_;
  int number_;
  std::atomic<bool> inactive_{false};     // the plugin's data functions do nothing
  std::atomic<bool> moves_itself_{false}; // bytes move without the plugin
  std::atomic<bool> chains_{false};
  std::atomic<bool> takes_shapes_{false};
  std::atomic<observe::MemoryGuard*> guard_{nullptr}; // allocates the objects; null: the plugin does
  mutable std::atomic<bool> lost_{false};
};

} // namespace omptool
