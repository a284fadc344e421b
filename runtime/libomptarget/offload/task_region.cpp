// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the thread on which the region of a task runs: the calling one or, for long kernels that open parallel
// regions, one of the core. libomp calls on a hidden helper thread, where a parallel region has one thread.
#include "offload/fallback.h"
#include "offload/offload.h"
#include "rtl/core_workers.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <semaphore>
#include <utility>

namespace omptool {
namespace {

using Clock = std::chrono::steady_clock;

// A task's kernel on a thread of the core. One at a time: it has all processors.
class OnCoreThread {
public:
  OnCoreThread() = default;
  ~OnCoreThread() {
    if (goes_)
      is_taken.store(false, std::memory_order_release);
  }
  OnCoreThread(const OnCoreThread&) = delete;
  OnCoreThread& operator=(const OnCoreThread&) = delete;

  // Returns whether the kernel is faster there, lately, than on the calling thread. A hand-over costs 10 to 60 us. With
  // two processors a kernel of 660 us takes 0.6 of its time there if the program waits in a parallel region, and 1.04
  // if it waits in a taskwait, which keeps a processor busy (bench/launch.py --part nowait). So both ways are measured,
  // the slower one in some 1 of 30 launches. Tools hear of a task on the thread that has it.
  bool pays(const Kernel& kernel) {
    constexpr std::chrono::microseconds kBreakEven{200};
    if (kernel.on_task_thread.get() <= kBreakEven || observe::heard_on_thread() || core_workers::here())
      return false;
    if (kernel.on_core_thread.get() >= kernel.on_task_thread.get()) {
      kernel.on_core_thread.fade();
      return false;
    }
    return goes_ = !is_taken.exchange(true, std::memory_order_acquire);
  }

  // Returns what `work` returns, or throws what it throws.
  template <typename Work> static std::int32_t run(const Work& work) {
    std::int32_t result = 0;
    std::exception_ptr thrown;
    std::binary_semaphore has_ended(0);
    core_workers::operate([&] {
      try {
        result = work();
      } catch (...) {
        thrown = std::current_exception();
      }
      has_ended.release();
    });
    has_ended.acquire();
    if (thrown)
      std::rethrow_exception(std::move(thrown));
    return result;
  }

private:
  static inline constinit std::atomic<bool> is_taken{false};
  bool goes_ = false;
};

} // namespace

std::int32_t run_task_region(std::int64_t device_id, const void* host_address, Rows rows, const AskedShape& shape) {
  Registry* const registry = Registry::current();
  const Device* const device = ready_device(registry, device_id);
  if (!device)
    return run_region(device_id, host_address, rows, shape);
  const KernelUse use(*registry, host_address);
  const Kernel* const kernel = use.get();
  const Kernel::Loaded* const loaded = kernel ? kernel->on(device->number) : nullptr;
  if (!loaded || !loaded->opens_parallel || device->memory.chains())
    return run_region(device_id, host_address, rows, shape);
  // The default device is the task's: another thread has one of its own.
  const std::int64_t number = environment().device_policy == DevicePolicy::kLeastLoaded ? device_id : device->number;
  const auto run = [&] { return run_region(number, host_address, rows, shape); };
  const Clock::time_point began = Clock::now();
  OnCoreThread there;
  const bool goes = there.pays(*kernel);
  const std::int32_t result = goes ? OnCoreThread::run(run) : run();
  (goes ? kernel->on_core_thread : kernel->on_task_thread).note(Clock::now() - began);
  return result;
}

} // namespace omptool
