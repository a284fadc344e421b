// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The asynchronous functions of omptarget_rtl.h.
#include "common/dependences.h"
#include "driver.h"
#include "loader.h"
#include "shape.h"

#include <utility>

namespace omptool::opencl {
namespace {

std::int32_t add(Device& device, const plugin::OrderArguments& all, std::string what, const Queue::Enqueue& enqueue,
                 Running running = {}) {
  return plugin::in_order(all, [&](const plugin::Dependences& order) {
    return driver()->queue.add(device, order, std::move(what), std::move(running), enqueue);
  });
}

// Turns the result of an OpenCL call that queues something into this plugin's.
std::int32_t result_of(const char* call, cl_int error) {
  return error == CL_SUCCESS ? 0 : fail(failure_of(call, error));
}

std::int32_t add_copy(Device& device, void* target, const void* source, std::int64_t size,
                      const plugin::OrderArguments& all) {
  if (size < 0)
    return fail("a size of " + std::to_string(size) + " bytes");
  const Memory& memory = device.memory();
  return add(device, all, memory.copy_call(), [=, &memory](cl_command_queue queue, const Order& order) {
    return result_of(memory.copy_call(), memory.copy(queue, target, source, static_cast<std::size_t>(size), order));
  });
}

std::int32_t add_fill(Device& device, void* target, std::int32_t value, std::int64_t size,
                      const plugin::OrderArguments& all) {
  if (size < 0)
    return fail("a size of " + std::to_string(size) + " bytes");
  const Memory& memory = device.memory();
  return add(device, all, memory.fill_call(), [=, &memory](cl_command_queue queue, const Order& order) {
    const auto byte = static_cast<unsigned char>(value);
    return result_of(memory.fill_call(), memory.fill(queue, target, byte, static_cast<std::size_t>(size), order));
  });
}

std::int32_t add_run(Device& device, void* entry, void** arguments, std::int32_t count, Shape shape,
                     const plugin::OrderArguments& all) {
  if (!entry)
    return fail("no kernel");
  Kernel& kernel = *static_cast<Kernel*>(entry);
  const auto launch = [=, &kernel](cl_command_queue queue, const Order& order) {
    return kernel.launch(queue, arguments, count, shape, order);
  };
  return add(device, all, kernel.launch_call(), launch, Running(device.found(), kernel.name()));
}

} // namespace
} // namespace omptool::opencl

using omptool::opencl::add;
using omptool::opencl::add_copy;
using omptool::opencl::add_fill;
using omptool::opencl::add_run;
using omptool::opencl::Device;
using omptool::opencl::Driver;
using omptool::opencl::guarded;
using omptool::opencl::Operation;
using omptool::opencl::with_driver;

OMPTOOL_RTL_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct completion_callback) {
  omptool::plugin::Events::set_callback(completion_callback);
}

// Events are of one context, and each device has its own.
OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_enforce_dep(int32_t from_device_id, int32_t to_device_id,
                                                 tgt_event_t completion_event) {
  return guarded(from_device_id, 0, [&](Device&) -> int32_t {
    const bool is_live = with_driver(0, [&](Driver& all) { return all.events.is_live(completion_event) ? 1 : 0; });
    return is_live && from_device_id == to_device_id;
  });
}

OMPTOOL_RTL_EXPORT void __tgt_rtl_release_dep(tgt_event_t completion_event) {
  with_driver(1, [&](Driver& all) { return all.events.release(completion_event); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_process_dep(void) {
  return 0; // the driver gets on by itself
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_dep(int32_t device_id, int32_t num_dep_events, tgt_event_t* dep_events,
                                               tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add(device, {num_dep_events, dep_events, completion_event}, "clEnqueueMarkerWithWaitList",
               [&](omptool::opencl::cl_command_queue queue, const omptool::opencl::Order& order) {
                 return omptool::opencl::result_of("clEnqueueMarkerWithWaitList", device.mark(queue, order));
               });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_submit(int32_t device_id, void* target_ptr, void* host_ptr,
                                                       int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                       tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add_copy(device, target_ptr, host_ptr, size, {num_dep_events, dep_events, completion_event});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr,
                                                         int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                         tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add_copy(device, host_ptr, target_ptr, size, {num_dep_events, dep_events, completion_event});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_target_region(int32_t device_id, void* target_entry_ptr,
                                                             void** target_vars_ptr, int32_t arg_num,
                                                             int32_t num_dep_events, tgt_event_t* dep_events,
                                                             tgt_event_t* completion_event) {
  return __tgt_rtl_async_run_target_team_region(device_id, target_entry_ptr, target_vars_ptr, arg_num, 1, 1,
                                                num_dep_events, dep_events, completion_event);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_target_team_region(int32_t device_id, void* target_entry_ptr,
                                                                  void** target_vars_ptr, int32_t arg_num,
                                                                  int32_t num_teams, int32_t thread_limit,
                                                                  int32_t num_dep_events, tgt_event_t* dep_events,
                                                                  tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add_run(device, target_entry_ptr, target_vars_ptr, arg_num, {num_teams, thread_limit},
                   {num_dep_events, dep_events, completion_event});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                      int32_t arg_num, const tgt_launch_shape* shape,
                                                      int32_t num_dep_events, tgt_event_t* dep_events,
                                                      tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    const std::optional<omptool::opencl::Shape> known = omptool::opencl::shape_of(*shape);
    return known ? add_run(device, target_entry_ptr, target_vars_ptr, arg_num, *known,
                           {num_dep_events, dep_events, completion_event})
                 : OMPTARGET_RTL_NOT_STARTED;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size,
                                                     int32_t num_dep_events, tgt_event_t* dep_events,
                                                     tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add_fill(device, target_ptr, value, size, {num_dep_events, dep_events, completion_event});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_wait_event(tgt_event_t completion_event) {
  return with_driver(1, [&](Driver& all) {
    return omptool::plugin::ask_event<Operation>(
        all.events, completion_event, [&](const auto& operation, auto& lock) { all.queue.await(*operation, lock); });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_query_event(tgt_event_t completion_event) {
  return with_driver(1, [&](Driver& all) {
    return omptool::plugin::ask_event<Operation>(all.events, completion_event,
                                                 [&](const auto& operation, auto&) { all.queue.look_at(*operation); });
  });
}
