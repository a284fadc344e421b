// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device.h"
#include "host_range.h"

#include <functional>
#include <optional>
#include <vector>

namespace omptool {

// Work for every device, done when a device is first used (device number -2).
struct Deferred {
  std::function<void(Device&)> run;
  const void* host_address = nullptr; // of a region; null for data
  std::vector<HostRange> memory = {}; // that it uses: gone with the library that it is part of
};

// The deferred work, in order. Every device counts what it has done, so the places stay. Used under the registry's
// lock.
class DeferredWork {
public:
  bool is_empty() const { return all_.empty(); }
  void add(Deferred work) { all_.push_back(std::move(work)); }
  // Returns what the device is to do next, and counts it as done; nothing at the end.
  std::optional<Deferred> next(Device& device) const;
  // No library has the kernel any more.
  void forget(const void* host_address);
  // A library is gone that the memory was part of: a data call has no entry that names its library.
  void forget_within(HostRange gone);

private:
  std::vector<Deferred> all_;
};

} // namespace omptool
