// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device.h"
#include "devices/library_contents.h"

#include <functional>
#include <mutex>
#include <vector>

namespace omptool {

// Deferred work for every device, done at the device's first use (device number -2).
struct Deferred {
  std::function<void(Device&)> run;
  const void* host_address = nullptr; // of a region; null for data
  std::vector<HostRange> memory = {}; // that it uses: gone with the library that it is part of
};

// Deferred work of a process, in the order of the calls. Each device counts the items that it has done.
class DeferredWork {
public:
  void add(Deferred work);
  // Runs the work that the device has not done. The caller has the turn device.preparing, so that no region runs before
  // the constructors have.
  void run_all(Device& device);
  // Drops the work that needs a removed library: its kernels, unless `is_listed` finds them in other libraries, or its
  // memory, since a data call has no entry that names the library. `read` fills the library's table, only if it is
  // needed.
  void forget(HostRange object, const std::function<const EntryTable&()>& read,
              const std::function<bool(const void*)>& is_listed);

private:
  std::mutex mutex_;
  std::vector<Deferred> all_; // forgotten work keeps its place
};

} // namespace omptool
