// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one instance of this plugin in a process, and the exported functions' way to it.
#pragma once

#include "common/calls.h"
#include "device.h"
#include "queue.h"
#include "settings.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace omptool::host {

// A child of fork() gets a new one: the threads are not in it.
struct Host {
  Host* parents = nullptr; // of the process that forked this one; never looked into
  Pool pool;
  Crews crews;
  plugin::Events events;
  Queue queue{events, most_in_flight()};
  std::vector<std::unique_ptr<Device>> devices;
};

// Null before it is first asked for.
extern std::atomic<Host*> the_host;
Host& make_host();

inline Host& host() {
  Host* const known = the_host.load(std::memory_order_acquire);
  return known ? *known : make_host();
}

[[gnu::noinline, gnu::cold]] void fail_for_device(std::int32_t device_id);

// Runs `body(device)`; an exception is a failure with a reason, and so is a device that does not exist.
template <typename Body, typename Result>
Result guarded(std::int32_t device_id, Result failed, const Body& body) noexcept {
  return safely(failed, [&]() -> Result {
    Host& all = host();
    if (device_id >= 0 && static_cast<std::size_t>(device_id) < all.devices.size())
      return body(*all.devices[static_cast<std::size_t>(device_id)]);
    fail_for_device(device_id);
    return failed;
  });
}

} // namespace omptool::host
