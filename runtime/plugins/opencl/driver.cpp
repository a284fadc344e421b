// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver.h"

#include "loader.h"

#include <mutex>
#include <pthread.h>

namespace omptool::opencl {
namespace {

// Counts threads that ask drivers, or have asked them. If there is one, a child of fork() is lost.
constinit std::atomic<unsigned> asked{0};
// Devices that a parent of this process had.
constinit std::atomic<std::size_t> parents_devices{0};
constinit std::atomic<bool> is_lost{false};

void lose_after_fork() {
  if (asked == 0)
    return;
  if (const Driver* const left = the_driver.exchange(nullptr))
    parents_devices = left->devices.size();
  is_lost = true;
}

} // namespace

constinit std::atomic<Driver*> the_driver{nullptr};

[[gnu::noinline, gnu::cold]] Driver* make_driver() {
  if (is_lost) {
    fail("no driver of OpenCL's works in a child of fork() whose parent had used it");
    return nullptr;
  }
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, lose_after_fork); });
  ++asked;
  // No lock: a thread that loads libraries may come here, and the loader loads some, too. The first stays.
  auto made = std::make_unique<Driver>();
  if (open_loader(made->cl, made->why_none))
    for (Found& found : find_devices(made->cl, made->why_none)) {
      found.number = static_cast<std::int32_t>(made->devices.size());
      made->devices.push_back(std::make_unique<Device>(made->cl, std::move(found)));
    }
  Driver* known = nullptr;
  if (the_driver.compare_exchange_strong(known, made.get()))
    return made.release();
  return known;
}

Device* device_of(std::int32_t device_id) {
  Driver* const known = driver();
  if (!known)
    return nullptr;
  if (device_id >= 0 && static_cast<std::size_t>(device_id) < known->devices.size())
    return known->devices[static_cast<std::size_t>(device_id)].get();
  fail("there is no device " + std::to_string(device_id) + (known->why_none.empty() ? "" : ": " + known->why_none));
  return nullptr;
}

std::int32_t count_devices() {
  const Driver* const known = driver();
  if (!known) // as many as it had, each of which says why it does not start
    return static_cast<std::int32_t>(parents_devices.load());
  fail(known->why_none);
  return static_cast<std::int32_t>(known->devices.size());
}

} // namespace omptool::opencl
