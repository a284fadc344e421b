// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/device.h"
#include "devices/library_contents.h"
#include "process/loaded_object.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace omptool {

struct LoadedImage;

// Library: an executable or shared library that has registered. Its contents are read when a device is first needed.
struct Library : LibraryContents {
  // A device that has loaded what it could of the library.
  struct OnDevice {
    std::vector<std::shared_ptr<LoadedImage>> images;
    std::string failure;   // the first image that could not be loaded, or constructor that could not run
    bool unusable = false; // regions run on the host although an image is loaded
    bool used = false;     // a region of the library ran here
  };
  Library(std::uint64_t its_number, LibraryReader its_reader, LoadedObject its_home)
      : number(its_number), read(its_reader), home(std::move(its_home)) {}
  const std::uint64_t number; // in the order in which they have registered, from 1 on
  const LibraryReader read;
  const LoadedObject home;           // that the descriptor is part of
  std::atomic<bool> removed = false; // written under the lock of Libraries

  // Calls `use` with the library's images on the device, under the library's lock; not at all if it has none there.
  template <typename Use> void on(int device, Use use) {
    const std::lock_guard lock(mutex_);
    if (const auto there = on_device_.find(device); there != on_device_.end())
      use(there->second);
  }
  // Returns whether the device has loaded what it could of the library.
  bool is_on(int device) const {
    const std::lock_guard lock(mutex_);
    return on_device_.contains(device);
  }
  // Returns false if the library has been removed: `loaded` stays with the caller.
  bool publish(int device, OnDevice& loaded) {
    const std::lock_guard lock(mutex_);
    if (!removed)
      on_device_[device] = std::move(loaded);
    return !removed;
  }
  // Takes everything from the devices, once the library is removed. The caller unloads the images without a lock.
  std::map<int, OnDevice> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(on_device_, {});
  }
  // Copies the image's bytes, unless the program itself contains them: a plugin reads them without a lock, and the
  // library may be unloaded meanwhile. Returns false if it is unregistered, which locks `reading`.
  bool copy_if_unloadable(__tgt_device_image& image, std::vector<char>& bytes, std::mutex& reading) const;

private:
  mutable std::mutex mutex_;
  std::map<int, OnDevice> on_device_; // by device number
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
  // Loads the image in the plugin: `table` stays null if that fails. Returns false if the library is unregistered,
  // which locks `reading`.
  bool load(std::mutex& reading);
  // Pairs the plugin's table with the host's (decision 26): fills `addresses`. Returns why the tables do not belong
  // together, as the end of a message, or "".
  std::string pair_entries();
  // Runs the functions of one kind, which have no parameters, in table order, destructors backwards. Returns the name
  // of the first that could not run, or "".
  std::string run_all(EntryKind kind) const;
  Passing passing(EnvironmentPlace of_call) const { return passings[static_cast<std::size_t>(of_call)]; }
  // Returns why its kernels cannot be called with this environment.
  std::string disagreement(EnvironmentPlace environment) const;

  Device& device;
  const std::shared_ptr<const Library> library;
  __tgt_device_image image; // the plugin identifies the image by this address; its bytes may be gone
  const std::uint64_t module = observe::next_module(); // its number in events
  tgt_target_table* table = nullptr;
  std::vector<void*> addresses; // of each entry on the device, null where the image lacks it
  bool constructed = false;     // its constructors have run, so its destructors will
  const Passings passings;
  const bool names_dimensions; // see Launching
  const std::string& compiler; // see ImageOrigin; the library has it
};

} // namespace omptool
