// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/library.h"
#include "devices/loaded_image.h"
#include "host_range.h"
#include "rtl/passing.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace omptool {

// Reports about a region that are made once.
enum class ReportOnce : std::size_t { kFallsBack, kMayUseDevice };
constexpr std::size_t kReportsOnce = 2;

// A kernel as the host knows it. Several libraries may list one host address: bundled objects of one
// executable share its entry table, each with its own images.
struct Kernel {
  struct Owner {
    std::shared_ptr<Library> library;
    std::size_t index;
  };
  struct Loaded {
    int device = -1;
    void* function = nullptr;
    std::shared_ptr<LoadedImage> image;
    const Loaded* next = nullptr;
  };
  std::string name;
  std::vector<Owner> owners;
  // The findings so far: written under the registry's lock, read without it.
  mutable std::atomic<const Loaded*> loaded{nullptr};
  mutable std::vector<std::unique_ptr<const Loaded>> kept; // all that `loaded` ever led to; under the registry's lock
  const Loaded* on(int device) const {
    const Loaded* one = loaded.load(std::memory_order_acquire);
    while (one && one->device != device)
      one = one->next;
    return one;
  }
  mutable std::array<std::atomic<bool>, kReportsOnce> said{}; // by ReportOnce
  std::vector<HostRange> globals() const;
  // Returns why the address does not say which kernel is meant, or "".
  std::string ambiguity() const;
  bool in_several_objects() const;
  // Returns where it is on the device, or why it is not there. The caller holds the registry's lock.
  Loaded search(const Device& device, std::string& reason) const;
};

// A kernel on a device. Valid as long as the KernelUse that it comes from.
struct Resolved {
  void* function = nullptr; // null: it is not there
  Passing how = Passing::kPlain;
};

} // namespace omptool
