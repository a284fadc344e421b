// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda.h"

#include <mutex>
#include <pthread.h>

namespace omptool::cuda {
namespace {

constinit std::atomic<Cuda*> the_cuda{nullptr};

// The child leaves the parent's state alone: a thread that is not in the child may hold its lock.
void forget_after_fork() {
  static Cuda lost;
  if (!the_cuda)
    return;
  lost.reason = "the process has forked since it has used the driver";
  the_cuda = &lost;
}

Outcome count_devices(Cuda& all) {
  const Driver& driver = all.driver;
  int count = 0;
  Outcome outcome = OMPTOOL_CUDA(driver, cuInit, 0);
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuDeviceGetCount, &count);
  for (int i = 0; outcome.ok() && i < count; ++i) {
    CUdevice device = 0;
    int major = 0, minor = 0;
    outcome = OMPTOOL_CUDA(driver, cuDeviceGet, &device, i);
    if (outcome.ok())
      outcome =
          OMPTOOL_CUDA(driver, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (outcome.ok())
      outcome =
          OMPTOOL_CUDA(driver, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (outcome.ok())
      all.devices.push_back(std::make_unique<Device>(driver, i, count, device, 10 * major + minor));
  }
  return outcome;
}

std::unique_ptr<Cuda> make_cuda() {
  auto all = std::make_unique<Cuda>();
  all->reason = open_driver(all->driver);
  if (!all->reason.empty())
    return all;
  if (const Outcome outcome = count_devices(*all); !outcome.ok()) {
    all->devices.clear();
    all->reason = text_of(all->driver, outcome);
  } else if (all->devices.empty()) {
    all->reason = "the NVIDIA driver has no device";
  }
  return all;
}

} // namespace

std::vector<int> Cuda::capabilities() const {
  std::vector<int> all;
  for (const std::unique_ptr<Device>& device : devices)
    all.push_back(device->capability());
  return all;
}

Cuda* known_cuda() {
  return the_cuda.load(std::memory_order_acquire);
}

Cuda& cuda() {
  if (Cuda* const known = known_cuda())
    return *known;
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, forget_after_fork); });
  // No lock: a thread that forks meanwhile must not leave one behind. Of several that come first, one counts.
  std::unique_ptr<Cuda> made = make_cuda();
  Cuda* known = nullptr;
  if (the_cuda.compare_exchange_strong(known, made.get()))
    return *made.release();
  return *known;
}

void fail_for_device(const Cuda& all, std::int32_t device_id) {
  fail("there is no device " + std::to_string(device_id) + (all.reason.empty() ? "" : ": " + all.reason));
}

} // namespace omptool::cuda
