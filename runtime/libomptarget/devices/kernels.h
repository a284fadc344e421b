// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/kernel_index.h"
#include "devices/library.h"
#include "threads/hazard_pointers.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <forward_list>
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
  struct Loaded {
    int device = -1;
    void* function = nullptr;
    std::shared_ptr<LoadedImage> image;
    const Loaded* next = nullptr;
  };
  std::string name;
  std::vector<LibraryEntry> owners;
  // The findings so far: written under the registry's lock, read without it.
  mutable std::atomic<const Loaded*> loaded{nullptr};
  mutable std::forward_list<Loaded> kept; // all that `loaded` ever led to; under the registry's lock
  const Loaded* on(int device) const {
    const Loaded* one = loaded.load(std::memory_order_acquire);
    while (one && one->device != device)
      one = one->next;
    return one;
  }
  mutable std::array<std::atomic<bool>, kReportsOnce> said{}; // by ReportOnce
  std::vector<HostRange> globals() const;
  bool in_several_objects() const;
  // Finds it on the device, and remembers that. Null, and why, if it is not there. The caller holds the registry's
  // lock.
  const Loaded* search(const Device& device, std::string& reason) const;

private:
  // A region of its libraries runs there.
  const Loaded* remember(Loaded found) const;
  // Returns why the address does not say which kernel is meant, or "".
  std::string ambiguity() const;
};

// A kernel on a device. Valid as long as the KernelUse that it comes from.
struct Resolved {
  void* function = nullptr; // null: it is not there
  Passing how = Passing::kPlain;
};

// The kernels of all libraries, by host address. Used under the registry's lock, but for what launches look into: that
// is never changed, and goes when the launches that use it have ended.
class KernelTable {
public:
  const std::atomic<const KernelIndex*>& published() const { return published_; }
  // Indexes and kernels that launches may still use.
  Retired& retired() { return retired_; }
  // Several libraries have a kernel of one name, with one address: some address has to be asked for.
  bool any_apart() const { return any_apart_.load(std::memory_order_acquire); }

  const std::shared_ptr<Kernel>& find(const void* host_address) const { return index_->find(host_address); }
  // Returns the address that stands for the kernel of the caller's own executable or library.
  const void* meant_by(const void* host_address, const void* caller) const;
  void add(const std::shared_ptr<Library>& library);
  void remove(const std::shared_ptr<Library>& library);

private:
  void replace(KernelIndex& index, const void* address, std::vector<LibraryEntry> owners);
  void publish(KernelIndex changed);

  std::shared_ptr<const KernelIndex> index_ = std::make_shared<KernelIndex>();
  std::atomic<const KernelIndex*> published_{index_.get()};
  std::atomic<bool> any_apart_{false};
  Retired retired_;
};

} // namespace omptool
