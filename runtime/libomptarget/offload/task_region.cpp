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

  // Returns whether that is faster than the calling thread. With two processors a hand-over costs 10 to 60 us, and half
  // of the kernel's time is gained (bench/launch.py --part nowait). Tools hear of a task on the thread that has it.
  bool pays(const Kernel& kernel) {
    constexpr std::chrono::microseconds kBreakEven{200};
    goes_ = kernel.task_time.get() > kBreakEven && !observe::heard_on_thread() && !core_workers::here() &&
            !is_taken.exchange(true, std::memory_order_acquire);
    return goes_;
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
  const std::int32_t result = there.pays(*kernel) ? OnCoreThread::run(run) : run();
  kernel->task_time.note(Clock::now() - began);
  return result;
}

} // namespace omptool
