// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/library_contents.h"
#include "devices/loaded_image.h"
#include "host_range.h"
#include "rtl/rtl.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace omptool {

// The state of a library on one device.
struct LibraryOnDevice {
  bool loaded = false; // what could be loaded is in `images`
  std::vector<std::shared_ptr<LoadedImage>> images;
  std::string failure;   // the first image that could not be loaded, or constructor that could not run
  bool unusable = false; // regions run on the host although an image is loaded
  bool used = false;     // a region of the library ran here
};

// One executable or shared library that has registered.
struct Library {
  struct Image {
    __tgt_device_image raw;
    Rtl* rtl;             // null: none accepts it
    std::string refusals; // of the plugins, where none owns it
    ImageOrigin origin;
  };
  const void* descriptor = nullptr;
  std::uint64_t number = 0; // in the order in which they have registered, from 1 on
  bool permanent = false;   // part of the executable: its memory outlives every use
  HostRange object{};       // see Registration
  std::shared_ptr<const EntryTable> entries;
  std::vector<Image> images;
  std::vector<HostRange> globals;
  bool globals_required = false;
  bool host_memory = false;
  const char* remark = nullptr;             // see LibraryContents
  std::map<int, LibraryOnDevice> on_device; // by device number; under the registry's lock
  bool removed = false;                     // under the registry's lock
};

} // namespace omptool
