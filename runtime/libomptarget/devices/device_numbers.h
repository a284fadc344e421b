// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace omptool {

// Device numbers of a process, and its plugins.
class DeviceNumbers {
public:
  int count() const { return count_.load(std::memory_order_acquire); }
  // Returns null if no device has the number.
  Device* device(int number) const {
    if (number < 0 || number >= count())
      return nullptr;
    return devices_[static_cast<std::size_t>(number)].load(std::memory_order_acquire);
  }
  // Returns the number of devices of the same plugin, with this one.
  int peers_of(const Device& device) const;

  // Opens the plugins. Threads may each open them; the first list stays.
  void open_rtls();
  // Returns the plugins; none before open_rtls().
  std::span<const std::unique_ptr<Rtl>> rtls() const;
  // Returns which plugin cannot have devices that the user asked for, and why, or "".
  std::string failed_plugin() const;
  // Appends the plugin's devices, unless they have numbers. The plugin has counted them.
  void number(Rtl& rtl);

private:
  static constexpr std::size_t kMostDevices = 4096;

  std::mutex mutex_;                       // of the three below
  std::vector<std::unique_ptr<Rtl>> rtls_; // never changes once are_found_
  std::atomic<bool> are_found_{false};
  std::set<const Rtl*> numbered_;
  std::array<std::atomic<Device*>, kMostDevices> devices_{};
  std::atomic<int> count_{0};
};

} // namespace omptool
