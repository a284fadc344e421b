// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of omptarget_rtl.h that all plugins have: each checks its arguments, and calls the device. A function
// that only one plugin has is in its plugin.cpp.
#include "description.h"
#include "launch_shape.h"
#include "plugin.h"

#include <string>

namespace omptool::plugin {
namespace {

[[gnu::noinline, gnu::cold]] std::int32_t fail_for_size(std::int64_t size) {
  return fail("the call asks for " + std::to_string(size) + " bytes");
}
[[gnu::noinline, gnu::cold]] std::int32_t fail_for_kind(std::int32_t kind) {
  return fail("there is no memory of kind " + std::to_string(kind));
}
[[gnu::noinline, gnu::cold]] std::int32_t fail_for_arguments(std::int32_t count) {
  fail("a kernel with " + std::to_string(count) + " arguments");
  return OMPTARGET_RTL_NOT_STARTED;
}
[[gnu::noinline, gnu::cold]] std::int32_t fail_for_dependences(std::int32_t count) {
  return fail("the call has " + std::to_string(count) + " dependences, but no array of them or no place for its event");
}

bool is_kind(std::int32_t kind) {
  return kind >= OMPTARGET_MEMORY_DEVICE && kind <= OMPTARGET_MEMORY_SHARED;
}

void* allocate(std::int32_t device_id, std::int64_t size, std::int32_t kind) noexcept {
  return on_device(device_id, static_cast<void*>(nullptr), [&](Device& device) -> void* {
    if (size >= 0 && is_kind(kind))
      return device.allocate(static_cast<std::size_t>(size), kind);
    return size < 0 ? fail_for_size(size) : fail_for_kind(kind), nullptr;
  });
}

std::int32_t release(std::int32_t device_id, void* memory, std::int32_t kind) noexcept {
  return on_device(device_id, 1,
                   [&](Device& device) { return is_kind(kind) ? device.release(memory, kind) : fail_for_kind(kind); });
}

// Returns what `move(device, bytes)` does.
template <typename Move> std::int32_t move_now(std::int32_t device_id, std::int64_t size, const Move& move) noexcept {
  return on_device(device_id, 1, [&](Device& device) -> std::int32_t {
    if (size < 0)
      return fail_for_size(size);
    return size == 0 ? 0 : move(device, static_cast<std::size_t>(size));
  });
}

// Call of a kernel with `arguments`.
struct Call {
  void* kernel;
  void** arguments;
  std::int32_t count;

  bool is_possible() const { return kernel && count >= 0 && (count == 0 || arguments); }
  Arguments all() const { return {arguments, static_cast<std::size_t>(count)}; }
};

std::int32_t run_now(std::int32_t device_id, const Call& call, const tgt_launch_shape* shape) noexcept {
  return on_device(device_id, 1, [&](Device& device) {
    return call.is_possible() ? device.run(call.kernel, call.all(), shape) : fail_for_arguments(call.count);
  });
}

// Order of an operation: the dependences as the core passes them.
struct Order {
  std::int32_t count;
  tgt_event_t* events;
  tgt_event_t* made;
};

// Returns what `queue(device, dependences)` does.
template <typename Queue> std::int32_t queued(std::int32_t device_id, const Order& order, const Queue& queue) noexcept {
  return on_device(device_id, 1, [&](Device& device) -> std::int32_t {
    if (order.count < 0 || (order.count > 0 && !order.events) || !order.made)
      return fail_for_dependences(order.count);
    return queue(device, Dependences{{order.events, static_cast<std::size_t>(order.count)}, *order.made});
  });
}

// Enqueues a move. A size of 0 makes an operation without a move.
template <typename Move>
std::int32_t move_later(std::int32_t device_id, std::int64_t size, const Order& order, const Move& move) noexcept {
  return queued(device_id, order, [&](Device& device, const Dependences& known) -> std::int32_t {
    if (size < 0)
      return fail_for_size(size);
    return size == 0 ? device.queue_nothing(known) : move(device, static_cast<std::size_t>(size), known);
  });
}

std::int32_t run_later(std::int32_t device_id, const Call& call, const tgt_launch_shape* shape,
                       const Order& order) noexcept {
  return queued(device_id, order, [&](Device& device, const Dependences& known) {
    return call.is_possible() ? device.queue_run(call.kernel, call.all(), shape, known)
                              : fail_for_arguments(call.count);
  });
}

template <typename Question> std::int32_t ask(std::int32_t device_id, const Question& question) noexcept {
  return of_device(device_id, 0, [&](const Device& device) { return question(device) ? 1 : 0; });
}

// Calls `ask(plugin, event, lock)`, and returns what the event's operation returned.
template <typename Ask> std::int32_t ask_event(tgt_event_t event, const Ask& ask) noexcept {
  return safely(1, [&]() -> std::int32_t {
    Plugin& all = of_process();
    Events::Lock lock = all.events.lock();
    const EventPtr known = all.events.find(event);
    if (!known)
      return 1;
    if (!known->is_done)
      ask(all, known, lock);
    return known->is_done ? result_of(*known) : OMPTARGET_RTL_PENDING;
  });
}

} // namespace
} // namespace omptool::plugin

using namespace omptool::plugin;

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return omptool::safely(0, [] {
    const Plugin& all = of_process();
    omptool::fail(all.reason); // why there are no devices, or some are not used; or ""
    return all.has_failed ? -1 : static_cast<int32_t>(all.devices.size());
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  return omptool::safely(0, [&] {
    const auto* const begin = static_cast<const std::byte*>(image->ImageStart);
    const std::string fault = fault_of_image({begin, static_cast<const std::byte*>(image->ImageEnd)});
    omptool::fail(fault);
    return fault.empty() ? 1 : 0;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_init_device(int32_t device_id) {
  return on_device(device_id, 1, [](Device&) { return 0; });
}

OMPTOOL_RTL_EXPORT tgt_target_table* __tgt_rtl_load_binary(int32_t device_id, __tgt_device_image* image) {
  return on_device(device_id, static_cast<tgt_target_table*>(nullptr),
                   [&](Device& device) { return device.load(*image); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_unload_binary(int32_t device_id, __tgt_device_image* image) {
  return on_device(device_id, 1, [&](Device& device) { return device.unload(*image); });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_data_alloc(int32_t device_id, int64_t size) {
  return allocate(device_id, size, OMPTARGET_MEMORY_DEVICE);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_delete(int32_t device_id, void* target_ptr) {
  return release(device_id, target_ptr, OMPTARGET_MEMORY_DEVICE);
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_memory_alloc(int32_t device_id, int64_t size, int32_t kind) {
  return allocate(device_id, size, kind);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_free(int32_t device_id, void* memory, int32_t kind) {
  return release(device_id, memory, kind);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_submit(int32_t device_id, void* target_ptr, void* host_ptr, int64_t size) {
  return move_now(device_id, size,
                  [&](Device& device, std::size_t bytes) { return device.submit(target_ptr, host_ptr, bytes); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr, int64_t size) {
  return move_now(device_id, size,
                  [&](Device& device, std::size_t bytes) { return device.retrieve(host_ptr, target_ptr, bytes); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size) {
  return move_now(device_id, size,
                  [&](Device& device, std::size_t bytes) { return device.fill(target_ptr, value, bytes); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_exchange(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                   void* target_ptr, int64_t size) {
  return on_device(from_device_id, 1, [&](Device& from) {
    return move_now(to_device_id, size,
                    [&](Device& to, std::size_t bytes) { return to.receive(target_ptr, from, source_ptr, bytes); });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_region(int32_t device_id, void* target_entry_ptr,
                                                       void** target_vars_ptr, int32_t arg_num) {
  return run_now(device_id, {target_entry_ptr, target_vars_ptr, arg_num}, nullptr);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device_id, void* target_entry_ptr,
                                                            void** target_vars_ptr, int32_t arg_num, int32_t num_teams,
                                                            int32_t thread_limit) {
  const tgt_launch_shape shape = shape_of(num_teams, thread_limit);
  return run_now(device_id, {target_entry_ptr, target_vars_ptr, arg_num}, &shape);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                int32_t arg_num, const tgt_launch_shape* shape) {
  const tgt_launch_shape known = known_part(*shape);
  return run_now(device_id, {target_entry_ptr, target_vars_ptr, arg_num}, &known);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_shares_host_memory(int32_t device_id) {
  return ask(device_id, [](const Device& device) { return device.shares_host_memory(); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_is_addressable(int32_t device_id) {
  return ask(device_id, [](const Device& device) { return device.memory_is_addressable(); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_reaches_host_memory(int32_t device_id) {
  return ask(device_id, [](const Device& device) { return device.reaches_host_memory(); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_moves_like_memmove(int32_t device_id) {
  return ask(device_id, [](const Device& device) { return device.moves_like_memmove(); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_prefers_queues(int32_t device_id) {
  return ask(device_id, [](const Device& device) { return device.prefers_queues(); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_describe_device(int32_t device_id, tgt_device_description* description) {
  return of_device(device_id, 1, [&](const Device& device) {
    tgt_device_description known{};
    const std::int32_t result = device.describe(known);
    if (result == 0)
      omptool::answer(known, *description);
    return result;
  });
}

OMPTOOL_RTL_EXPORT const char* __tgt_rtl_last_error(void) {
  const char* const reason = omptool::last_error.data();
  return *reason ? reason : nullptr;
}

OMPTOOL_RTL_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct completion_callback) {
  Events::set_callback(completion_callback);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_enforce_dep(int32_t from_device_id, int32_t to_device_id,
                                                 tgt_event_t completion_event) {
  return on_device(from_device_id, 0, [&](Device& from) {
    return on_device(to_device_id, 0, [&](Device& to) {
      return of_process().can_order(from, to) && of_process().events.is_live(completion_event) ? 1 : 0;
    });
  });
}

OMPTOOL_RTL_EXPORT void __tgt_rtl_release_dep(tgt_event_t completion_event) {
  omptool::safely(1, [&] { return of_process().events.release(completion_event); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_process_dep(void) {
  return omptool::safely(1, [] { return of_process().process() ? 1 : 0; });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_wait_event(tgt_event_t completion_event) {
  return ask_event(completion_event,
                   [](Plugin& all, const EventPtr& event, Events::Lock& lock) { all.await(event, lock); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_query_event(tgt_event_t completion_event) {
  return ask_event(completion_event,
                   [](Plugin& all, const EventPtr& event, Events::Lock& lock) { all.look_at(event, lock); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_dep(int32_t device_id, int32_t num_dep_events, tgt_event_t* dep_events,
                                               tgt_event_t* completion_event) {
  return queued(device_id, {num_dep_events, dep_events, completion_event},
                [](Device& device, const Dependences& order) { return device.queue_nothing(order); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_submit(int32_t device_id, void* target_ptr, void* host_ptr,
                                                       int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                       tgt_event_t* completion_event) {
  return move_later(device_id, size, {num_dep_events, dep_events, completion_event},
                    [&](Device& device, std::size_t bytes, const Dependences& order) {
                      return device.queue_submit(target_ptr, host_ptr, bytes, order);
                    });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr,
                                                         int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                         tgt_event_t* completion_event) {
  return move_later(device_id, size, {num_dep_events, dep_events, completion_event},
                    [&](Device& device, std::size_t bytes, const Dependences& order) {
                      return device.queue_retrieve(host_ptr, target_ptr, bytes, order);
                    });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size,
                                                     int32_t num_dep_events, tgt_event_t* dep_events,
                                                     tgt_event_t* completion_event) {
  return move_later(device_id, size, {num_dep_events, dep_events, completion_event},
                    [&](Device& device, std::size_t bytes, const Dependences& order) {
                      return device.queue_fill(target_ptr, value, bytes, order);
                    });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_target_region(int32_t device_id, void* target_entry_ptr,
                                                             void** target_vars_ptr, int32_t arg_num,
                                                             int32_t num_dep_events, tgt_event_t* dep_events,
                                                             tgt_event_t* completion_event) {
  return run_later(device_id, {target_entry_ptr, target_vars_ptr, arg_num}, nullptr,
                   {num_dep_events, dep_events, completion_event});
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_target_team_region(int32_t device_id, void* target_entry_ptr,
                                                                  void** target_vars_ptr, int32_t arg_num,
                                                                  int32_t num_teams, int32_t thread_limit,
                                                                  int32_t num_dep_events, tgt_event_t* dep_events,
                                                                  tgt_event_t* completion_event) {
  const tgt_launch_shape shape = shape_of(num_teams, thread_limit);
  return run_later(device_id, {target_entry_ptr, target_vars_ptr, arg_num}, &shape,
                   {num_dep_events, dep_events, completion_event});
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                      int32_t arg_num, const tgt_launch_shape* shape,
                                                      int32_t num_dep_events, tgt_event_t* dep_events,
                                                      tgt_event_t* completion_event) {
  const tgt_launch_shape known = known_part(*shape);
  return run_later(device_id, {target_entry_ptr, target_vars_ptr, arg_num}, &known,
                   {num_dep_events, dep_events, completion_event});
}
