// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The asynchronous functions of omptarget_rtl.h.
#include "common/dependences.h"
#include "cuda/cuda.h"
#include "queue.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <utility>

namespace omptool::cuda {
namespace {

// What the process has queued. A child of fork() has nothing of it.
struct Queued {
  plugin::Events events;
  Queue queue{events};
};
constinit std::atomic<Queued*> the_queued{nullptr};

Queued& queued() {
  if (Queued* const one = the_queued.load(std::memory_order_acquire))
    return *one;
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, [] { the_queued = nullptr; }); });
  auto made = std::make_unique<Queued>();
  Queued* one = nullptr;
  return the_queued.compare_exchange_strong(one, made.get()) ? *made.release() : *one;
}

std::int32_t add(Device& device, const plugin::OrderArguments& all, const OperationPtr& operation) {
  return plugin::in_order(
      all, [&](const plugin::Dependences& order) { return queued().queue.add(device, order, operation); });
}

// `queue(bytes, stream)` hands it to the driver. A size of 0 is an operation, too. `operation` has what is known of it.
template <typename Queue>
std::int32_t add_move(Device& device, const char* what, std::int64_t size, const plugin::OrderArguments& all,
                      const Queue& queue, OperationPtr operation = std::make_shared<Operation>()) {
  if (size < 0)
    return fail("a size of " + std::to_string(size) + " bytes");
  operation->what = what;
  operation->size = size;
  if (size > 0)
    operation->work = [&device, what, size, queue](CUstream stream, CUdeviceptr&) {
      const Outcome outcome = device.context().in_stream([&] { return queue(static_cast<std::size_t>(size), stream); });
      return outcome.ok()
                 ? 0
                 : fail_of(device.context().driver, outcome, what + (" of " + std::to_string(size) + " bytes"));
    };
  return add(device, all, operation);
}

Operation::Small small_of(Operation::Small way, std::int64_t size) {
  return size > 0 && size <= static_cast<std::int64_t>(kLargestGathered) ? way : Operation::Small::kNo;
}

Piece piece_of(void* device, void* host, std::int64_t size) {
  return {reinterpret_cast<CUdeviceptr>(device), static_cast<std::byte*>(host), static_cast<std::size_t>(size)};
}

OperationPtr copy_in(void* target, void* host, std::int64_t size, Path path) {
  const auto operation = std::make_shared<Operation>();
  operation->only_reads = true;
  operation->is_long = path == Path::kStaged;
  operation->small = small_of(Operation::Small::kIn, size);
  operation->piece = piece_of(target, host, size);
  return operation;
}

// What is large is page-locked where it is not staged.
OperationPtr copy_out(Device& device, void* host, void* target, std::int64_t size, Path path) {
  const auto operation = std::make_shared<Operation>();
  const bool is_large = size >= static_cast<std::int64_t>(kLeastStaged);
  operation->is_long = path == Path::kStaged ||
                       (size > 0 && !is_large && !device.host_memory().is_locked(host, static_cast<std::size_t>(size)));
  operation->piece = piece_of(target, host, size);
  if (operation->is_long && device.memory().is_in_one_slab(operation->piece.device, operation->piece.size))
    operation->small = small_of(Operation::Small::kOut, size);
  return operation;
}

std::int32_t add_run(Device& device, void* entry, Arguments arguments, const tgt_launch_shape& asked,
                     const plugin::OrderArguments& all) {
  std::optional<Launch> launch = prepare(device.launcher(), entry, arguments, asked);
  if (!launch)
    return OMPTARGET_RTL_NOT_STARTED;
  const auto operation = std::make_shared<Operation>();
  operation->kernel = launch->kernel;
  operation->work = [&device, own = std::move(*launch)](CUstream stream, CUdeviceptr& lent) mutable {
    return start(device.launcher(), own, stream, lent) ? 0 : OMPTARGET_RTL_NOT_STARTED;
  };
  return add(device, all, operation);
}

} // namespace
} // namespace omptool::cuda

using omptool::cuda::add_move;
using omptool::cuda::add_run;
using omptool::cuda::CUstream;
using omptool::cuda::Device;
using omptool::cuda::guarded;
using omptool::cuda::Operation;
using omptool::cuda::queued;

OMPTOOL_RTL_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct completion_callback) {
  omptool::plugin::Events::set_callback(completion_callback);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_enforce_dep(int32_t from_device_id, int32_t to_device_id,
                                                 tgt_event_t completion_event) {
  const auto answer = [&](Device&) { return queued().events.is_live(completion_event) ? 1 : 0; };
  return guarded(from_device_id, 0, [&](Device&) -> int32_t { return guarded(to_device_id, 0, answer); });
}

OMPTOOL_RTL_EXPORT void __tgt_rtl_release_dep(tgt_event_t completion_event) {
  omptool::safely(1, [&] { return queued().events.release(completion_event); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_process_dep(void) {
  return omptool::safely(1, []() -> int32_t { return queued().queue.process(); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_dep(int32_t device_id, int32_t num_dep_events, tgt_event_t* dep_events,
                                               tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add_move(device, "a wait", 0, {num_dep_events, dep_events, completion_event},
                    [](std::size_t, CUstream) { return omptool::cuda::Outcome{"", omptool::cuda::CUDA_SUCCESS}; });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_submit(int32_t device_id, void* target_ptr, void* host_ptr,
                                                       int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                       tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    const omptool::cuda::Path path = device.path_of(host_ptr, size);
    return add_move(
        device, omptool::cuda::kSubmit, size, {num_dep_events, dep_events, completion_event},
        [=, &device](std::size_t bytes, CUstream stream) {
          return device.queue_submit(target_ptr, host_ptr, bytes, stream, path);
        },
        omptool::cuda::copy_in(target_ptr, host_ptr, size, path));
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr,
                                                         int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                         tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    const omptool::cuda::Path path = device.path_of(host_ptr, size);
    return add_move(
        device, omptool::cuda::kRetrieve, size, {num_dep_events, dep_events, completion_event},
        [=, &device](std::size_t bytes, CUstream stream) {
          return device.queue_retrieve(host_ptr, target_ptr, bytes, stream, path);
        },
        omptool::cuda::copy_out(device, host_ptr, target_ptr, size, path));
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size,
                                                     int32_t num_dep_events, tgt_event_t* dep_events,
                                                     tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add_move(device, omptool::cuda::kFill, size, {num_dep_events, dep_events, completion_event},
                    [=, &device](std::size_t bytes, CUstream stream) {
                      return device.queue_fill(target_ptr, value, bytes, stream);
                    });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_exchange(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                         void* target_ptr, int64_t size, int32_t num_dep_events,
                                                         tgt_event_t* dep_events, tgt_event_t* completion_event) {
  return guarded(from_device_id, 1, [&](Device& from) {
    return guarded(to_device_id, 1, [&](Device& to) {
      return add_move(to, omptool::cuda::kReceive, size, {num_dep_events, dep_events, completion_event},
                      [=, &from, &to](std::size_t bytes, CUstream stream) {
                        return to.queue_receive(target_ptr, from, source_ptr, bytes, stream);
                      });
    });
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
  const tgt_launch_shape shape = omptool::cuda::shape_of(num_teams, thread_limit);
  return __tgt_rtl_async_run_shaped(device_id, target_entry_ptr, target_vars_ptr, arg_num, &shape, num_dep_events,
                                    dep_events, completion_event);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                      int32_t arg_num, const tgt_launch_shape* shape,
                                                      int32_t num_dep_events, tgt_event_t* dep_events,
                                                      tgt_event_t* completion_event) {
  return guarded(device_id, 1, [&](Device& device) {
    return add_run(device, target_entry_ptr, {target_vars_ptr, arg_num}, omptool::cuda::known_part(*shape),
                   {num_dep_events, dep_events, completion_event});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_wait_event(tgt_event_t completion_event) {
  return omptool::safely(1, [&] {
    return omptool::plugin::ask_event<Operation>(
        queued().events, completion_event,
        [](const auto& operation, auto& lock) { queued().queue.await(operation, lock); });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_query_event(tgt_event_t completion_event) {
  return omptool::safely(1, [&] {
    return omptool::plugin::ask_event<Operation>(
        queued().events, completion_event,
        [](const auto& operation, auto& lock) { queued().queue.look_at(operation, lock); });
  });
}
