// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/library_contents.h"
#include "process/loaded_object.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace omptool {

struct LoadedImage;

// A library on a device that has loaded what it could.
struct LibraryOnDevice {
  std::vector<std::shared_ptr<LoadedImage>> images;
  std::string failure;   // the first image that could not be loaded, or constructor that could not run
  bool unusable = false; // regions run on the host although an image is loaded
  bool used = false;     // a region of the library ran here
};

// One executable or shared library that has registered. Its contents are read when a device is first needed.
struct Library : LibraryContents {
  std::uint64_t number = 0; // in the order in which they have registered, from 1 on
  LibraryReader read = nullptr;
  LoadedObject home; // that the descriptor is part of
  // Under the registry's lock:
  std::map<int, LibraryOnDevice> on_device = {}; // by device number
  bool removed = false;

  // Returns the image as plugins know it.
  __tgt_device_image raw(const RegisteredImage& image) const {
    auto* const first = const_cast<__tgt_offload_entry*>(table.records.data());
    return {image.begin, image.end, first, first + table.records.size()};
  }
  // Null: the device has not loaded it.
  LibraryOnDevice* on(int device) {
    const auto there = on_device.find(device);
    return there == on_device.end() ? nullptr : &there->second;
  }
};

struct LibraryEntry {
  std::shared_ptr<Library> library;
  std::size_t index;
  const HostEntry& entry() const { return library->table.entries[index]; }
};

} // namespace omptool
