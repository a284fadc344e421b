// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device_numbers.h"
#include "devices/libraries.h"

#include <string>

namespace omptool {

// Gets devices ready when they are first used: initialises them, loads images, maps their variables, runs their
// constructors and deferred work.
class Loader {
public:
  Loader(Libraries& libraries, DeviceNumbers& numbers, DeferredWork& deferred)
      : libraries_(libraries), numbers_(numbers), deferred_(deferred) {}

  // Initialises the device. Returns false if it cannot be used, see reason_of().
  bool start(Device& device);
  // Prepares the device: starts it, loads the images of every resolved library and runs deferred work.
  bool prepare(Device& device);
  // Returns whether nothing is left to prepare.
  bool is_prepared(const Device& device) const {
    return !libraries_.any_pending() && device.prepared_for.load(std::memory_order_acquire) == libraries_.generation();
  }
  std::string reason_of(Device& device) const;
  // Unmaps the variables of a library that is gone. Other libraries may list them: the first that has an image with one
  // maps it.
  void unmap_globals(const Library& gone, Device& device);

private:
  using Images = std::vector<std::shared_ptr<LoadedImage>>;

  std::string initialise(Device& device);
  bool load(const std::shared_ptr<Library>& library, Device& device);
  Images load_images(const std::shared_ptr<Library>& library, Device& device, std::string& failure);
  void publish(Library& library, Device& device, const Images& images, std::string failure);
  std::string adopt(LoadedImage& image, const Images& others);

  Libraries& libraries_;
  DeviceNumbers& numbers_;
  DeferredWork& deferred_;
};

} // namespace omptool
