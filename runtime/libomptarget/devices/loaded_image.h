// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device.h"
#include "devices/library.h"
#include "rtl/passing.h"

#include <memory>
#include <string>
#include <vector>

namespace omptool {

// An image on a device; unloaded when the library is gone and the last region in it has ended.
struct LoadedImage {
  LoadedImage(Device& its_device, std::shared_ptr<const Library> its_library, const RegisteredImage& its_image);
  ~LoadedImage();
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;

  const std::vector<HostEntry>& entries() const { return library->table.entries; }
  // Has the plugin load it: `table` stays null where that fails.
  void load();
  // Pairs the plugin's table with the host's (decision 26): fills `addresses`. Returns why the tables do not belong
  // together, as the end of a message, or "".
  std::string pair_entries();
  // Runs the functions of that kind, which take no arguments, in table order, destructors backwards. The name of the
  // first that could not run, or "".
  std::string run_all(EntryKind kind) const;
  Passing passing(EnvironmentPlace of_call) const { return passings[static_cast<std::size_t>(of_call)]; }
  // Returns why its kernels cannot be called with this environment.
  std::string disagreement(EnvironmentPlace environment) const;

  Device& device;
  const std::shared_ptr<const Library> library;
  __tgt_device_image image; // the plugin knows the image by this address; its bytes may be gone
  tgt_target_table* table = nullptr;
  std::vector<void*> addresses; // of each entry on the device, null where the image lacks it
  bool constructed = false;     // its constructors have run, so its destructors will
  const Passings passings;
  const std::string compiler; // see ImageOrigin
};

} // namespace omptool
