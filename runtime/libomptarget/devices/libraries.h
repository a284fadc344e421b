// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/deferred.h"
#include "devices/kernels.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace omptool {

// The libraries that have registered, in the order in which they have. A library is pending until its contents have
// been read and its plugins have numbered their devices.
class Libraries {
public:
  Libraries(KernelTable& kernels, DeferredWork& deferred) : kernels_(kernels), deferred_(deferred) {}

  void add(const void* descriptor, LibraryReader read, LoadedObject home);
  // Removes the library from every list, so that new calls do not find it. Null: it has not registered.
  std::shared_ptr<Library> remove(const void* descriptor);
  // Returns whether the address is part of a library that has registered, even if it has unregistered again.
  bool has_known(const void* address);
  // Returns whether nothing else is registered.
  bool is_last(const void* descriptor);
  // Returns whether all registered libraries are gone: the program is ending, or has unloaded them.
  bool is_over();
  // Calls `use` with each library, under the lock.
  template <typename Use> void each(Use use) {
    const std::shared_lock lock(mutex_);
    for (const auto& [number, library] : libraries_)
      use(library);
  }

  bool any_pending() const { return any_pending_.load(std::memory_order_acquire); }
  // Returns the first pending library, or null.
  std::shared_ptr<Library> next_pending();
  bool is_pending(const Library& library);
  // Ends the wait of a library whose images cannot be used. Returns false if it is not pending.
  bool ignore(const Library& library, const std::string& fault);
  // Returns the first library whose images are ignored, and why, or "".
  std::string ignored();
  // Ends the wait of a library with its contents.
  void enlist(const std::shared_ptr<Library>& library, LibraryContents contents);
  // Lock for reading the libraries' own memory.
  std::mutex& reading() { return reading_; }
  // Waits until no thread reads the memory of a removed library.
  void await_readers() { const std::lock_guard nobody_reads(reading_); }

  // Number of changes that a device has to catch up with.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  void note_change() { generation_.fetch_add(1, std::memory_order_release); }
  // Returns the first library that the device has not loaded; null if it has all. Remembers those before it.
  std::shared_ptr<Library> next_to_load(Device& device);
  // Returns the images of the device that have variables in this range: by the address of each, its first image and its
  // place in the image's table.
  std::map<std::uintptr_t, std::pair<std::shared_ptr<LoadedImage>, std::size_t>> images_with(HostRange range,
                                                                                             int device);

private:
  KernelTable& kernels_;
  DeferredWork& deferred_;
  std::mutex reading_;      // also locked by the call that unregisters the library
  std::shared_mutex mutex_; // of the members below; held briefly
  std::uint64_t last_number_ = 0;
  std::uint64_t examined_up_to_ = 0;                            // the number of a library; the later ones are pending
  std::map<std::uint64_t, std::shared_ptr<Library>> libraries_; // by number
  std::unordered_multimap<const void*, std::shared_ptr<Library>> registered_; // by their descriptors
  std::map<std::uintptr_t, std::uintptr_t> objects_; // begins and ends of executables and libraries that registered
  std::multimap<std::uintptr_t, LibraryEntry> variables_; // by address
  std::string ignored_;
  std::atomic<bool> any_pending_{false};
  std::atomic<std::uint64_t> generation_{1};
};

} // namespace omptool
