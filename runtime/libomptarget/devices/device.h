// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "data/device_data.h"
#include "rtl/device_memory.h"
#include "rtl/rtl.h"
#include "rtl/special_memory.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace omptool {

// One device of one plugin. Numbers are never reused, devices never removed.
struct Device {
  Device(int its_number, Rtl& its_rtl, std::int32_t its_rtl_id)
      : number(its_number), rtl(its_rtl), rtl_id(its_rtl_id) {}
  // Describes the device in the message of a region that cannot run on it.
  std::string describe() const { return "device " + std::to_string(number) + " (" + rtl.title_of(rtl_id) + ")"; }

  const int number;
  Rtl& rtl;
  const std::int32_t rtl_id;
  const std::string uid = rtl.name() + "-" + std::to_string(rtl_id); // no other device has it
  DeviceMemory memory{rtl, rtl_id, number};
  DeviceData data{memory};
  SpecialMemory special{memory};

  // Serialises preparing: mapping the variables of loaded images, running their constructors, and deferred work.
  // Recursive, because constructors of device variables may call this library.
  std::recursive_timed_mutex preparing;
  // Serialises loading: initialisation of the device and loading of images, so that threads that arrive at the same
  // time do it once.
  std::recursive_timed_mutex loading;
  std::mutex knowing;                         // of `failure` and of writers of `usable`
  std::string failure;                        // why it cannot be used, or "" if unknown
  std::size_t deferred_done = 0;              // under `preparing`
  std::uint64_t loaded_up_to = 0;             // the number of a library; under the registry's lock
  std::atomic<bool> usable{false};            // it has been initialised
  std::atomic<std::uint64_t> prepared_for{0}; // once usable: the registry's generation that it has caught up with
  std::atomic<std::size_t> regions{0};        // begun and not ended; see Placement
};

} // namespace omptool
