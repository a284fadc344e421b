// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of what a process did on devices.
#pragma once

#include "observe/events/events.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace omptool::observe {

struct Sums {
  std::uint64_t launches = 0, constructs = 0;
  Operation::Clock::duration kernels{}, copies{}, waited{};
  std::int64_t to_device = 0, to_host = 0;
  std::map<std::string, std::uint64_t> on_host; // by reason

  void add(const Operation& operation) {
    using Kind = Operation::Kind;
    const auto took = operation.ended - operation.began;
    if (operation.kind == Kind::kLaunch) {
      launches += operation.failed ? 0 : 1;
      kernels += took;
    } else if (operation.kind == Kind::kWait) {
      waited += took;
    } else if (operation.kind == Kind::kToDevice || operation.kind == Kind::kBetweenDevices) {
      copies += took;
      to_device += operation.size;
    } else if (operation.kind == Kind::kFromDevice) {
      copies += took;
      to_host += operation.size;
    }
  }
  void add(const Sums& other) {
    launches += other.launches;
    constructs += other.constructs;
    kernels += other.kernels;
    copies += other.copies;
    waited += other.waited;
    to_device += other.to_device;
    to_host += other.to_host;
    for (const auto& [reason, count] : other.on_host)
      on_host[reason] += count;
  }
  Operation::Clock::duration time() const { return kernels + copies; }
  bool has_copied() const { return to_device + to_host > 0; }
  std::uint64_t fallbacks() const {
    std::uint64_t all = 0;
    for (const auto& [reason, count] : on_host)
      all += count;
    return all;
  }
};

// Site of a construct or routine that is no region.
struct Site {
  std::string place;     // "file:line:column"; "": unknown
  std::string construct; // "target update", or the name of the function

  auto operator<=>(const Site&) const = default;
};

struct DeviceSums {
  std::string title;  // of the device, as people are shown it
  std::string plugin; // its name
  int peers = 1;      // devices of the plugin, with this one
  Sums sums;
};

struct Contents {
  std::map<std::string, Sums> regions; // by the kernel's name
  std::map<Site, Sums> sites;
  std::set<std::string> kernels;     // of libraries that have unregistered
  std::map<int, DeviceSums> devices; // that have been used
  bool has_ranks = false;            // other ranks have some of these
  bool is_spread = false;            // regions that name no device go to all devices

  Sums total() const {
    Sums all;
    for (const auto& [name, sums] : regions)
      all.add(sums);
    for (const auto& [site, sums] : sites)
      all.add(sums);
    return all;
  }
  std::vector<std::string> not_launched() const {
    std::vector<std::string> names;
    for (const std::string& name : kernels)
      if (!regions.contains(name))
        names.push_back(name);
    return names;
  }
  // Returns how many devices there are, and how many ran no kernel, of the plugins whose devices ran some.
  std::pair<int, int> idle_devices() const {
    std::map<std::string, int> peers;
    int used = 0, all = 0;
    for (const auto& [number, device] : devices)
      if (device.sums.launches > 0) {
        ++used;
        int& most = peers[device.plugin];
        most = std::max(most, device.peers);
      }
    for (const auto& [plugin, count] : peers)
      all += count;
    return {all, std::max(all - used, 0)};
  }
};

} // namespace omptool::observe
