// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device.h"
#include "devices/library_contents.h"
#include "rtl/passing.h"

#include <memory>
#include <string>
#include <vector>

namespace omptool {

// An image on a device; unloaded when the library is gone and the last region in it has ended.
struct LoadedImage {
  LoadedImage(Device& its_device, const __tgt_device_image& its_image, std::shared_ptr<const EntryTable> its_entries)
      : device(its_device), image(its_image), entries(std::move(its_entries)) {}
  ~LoadedImage();
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;

  // Runs the functions of that kind, which take no arguments, in table order, destructors backwards. The name of the
  // first that could not run, or "".
  std::string run_all(EntryKind kind) const;

  Device& device;
  __tgt_device_image image; // the plugin knows the image by this address; its bytes may be gone
  std::shared_ptr<const EntryTable> entries;
  tgt_target_table* table = nullptr;
  std::vector<void*> addresses; // of each entry on the device, null where the image lacks it
  bool constructed = false;     // its constructors have run, so its destructors will
  Passings passings = passings_of(KernelForm::kAsCalled, false, true);
  Passing passing(EnvironmentPlace of_call) const { return passings[static_cast<std::size_t>(of_call)]; }
  // Returns why its kernels cannot be called with this environment.
  std::string disagreement(EnvironmentPlace environment) const;
  std::string compiler; // see ImageOrigin
};

} // namespace omptool
