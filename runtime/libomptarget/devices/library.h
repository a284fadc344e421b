// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device.h"
#include "devices/library_contents.h"
#include "process/loaded_object.h"

#include <map>
#include <memory>

namespace omptool {

struct LoadedImage;

// One executable or shared library that has registered. Its contents are read when a device is first needed.
struct Library : LibraryContents {
  // A device that has loaded what it could of the library.
  struct OnDevice {
    std::vector<std::shared_ptr<LoadedImage>> images;
    std::string failure;   // the first image that could not be loaded, or constructor that could not run
    bool unusable = false; // regions run on the host although an image is loaded
    bool used = false;     // a region of the library ran here
  };
  std::uint64_t number = 0; // in the order in which they have registered, from 1 on
  LibraryReader read = nullptr;
  LoadedObject home; // that the descriptor is part of
  // Under the registry's lock:
  std::map<int, OnDevice> on_device = {}; // by device number
  std::atomic<bool> removed = false;      // written under that lock

  // Null: the device has not loaded it.
  OnDevice* on(int device) {
    const auto there = on_device.find(device);
    return there == on_device.end() ? nullptr : &there->second;
  }
  // Copies the image's bytes, unless they are the program's own: a plugin looks at them without a lock, and the library
  // may be unloaded meanwhile. Returns false if it has been unregistered, which takes the lock `reading`.
  bool copy_if_unloadable(__tgt_device_image& image, std::vector<char>& bytes, std::mutex& reading) const;
};

struct LibraryEntry {
  std::shared_ptr<Library> library;
  std::size_t index;
  const HostEntry& entry() const { return library->table.entries[index]; }
};

// An image on a device; unloaded when the library is gone and the last region in it has ended.
struct LoadedImage {
  LoadedImage(Device& its_device, std::shared_ptr<const Library> its_library, const RegisteredImage& its_image);
  ~LoadedImage();
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;

  const std::vector<HostEntry>& entries() const { return library->table.entries; }
  // Has the plugin load it: `table` stays null where that fails. False: the library has been unregistered, which takes
  // the lock `reading`.
  bool load(std::mutex& reading);
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
  const std::uint64_t module = observe::next_module(); // as those who listen know it
  tgt_target_table* table = nullptr;
  std::vector<void*> addresses; // of each entry on the device, null where the image lacks it
  bool constructed = false;     // its constructors have run, so its destructors will
  const Passings passings;
  const bool names_dimensions; // see Launching
  const std::string& compiler; // see ImageOrigin; the library has it
};

} // namespace omptool
