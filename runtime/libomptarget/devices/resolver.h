// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device_numbers.h"
#include "devices/libraries.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace omptool {

// Resolves pending libraries: reads their descriptors, asks plugins which images they accept, and numbers devices.
class Resolver {
public:
  Resolver(Libraries& libraries, DeviceNumbers& numbers) : libraries_(libraries), numbers_(numbers) {}

  // Numbers the devices of all plugins, whether or not a library has images for them; after fork() again.
  void number_all();
  // Resolves, in order, what has registered since the last call.
  void resolve_pending() {
    if (libraries_.any_pending()) [[unlikely]]
      resolve();
  }
  // Returns why there is no device at all.
  std::string reason_for_none();

private:
  static inline constinit std::atomic<bool> numbers_all{false}; // see number_all()

  void resolve();
  std::optional<LibraryContents> examine(const Library& library);
  bool find_owners(const Library& library, const LibraryContents& contents, RegisteredImage& image);
  std::vector<Rtl*> enlist_if_counted(const std::shared_ptr<Library>& library);
  void enlist(const std::shared_ptr<Library>& library, LibraryContents contents);

  Libraries& libraries_;
  DeviceNumbers& numbers_;
  // The turn to examine libraries, so that threads that come at once don't each do it.
  std::timed_mutex examining_;
  // Held while devices get their numbers and a library enters the lists.
  std::mutex resolving_;
};

} // namespace omptool
