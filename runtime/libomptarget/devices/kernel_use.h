// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/registry.h"
#include "threads/hazard_pointers.h"

#include <atomic>
#include <memory>

namespace omptool {

// The kernel at a host address, kept from being freed, and its images from being unloaded, while this
// lives: for the length of a launch.
class KernelUse {
public:
  KernelUse(Registry& registry, const void* host_address) : registry_(registry), mine_(my_hazard_pointer()) {
    if (mine_.record.load(std::memory_order_relaxed)) [[unlikely]]
      kernel_ = (nested_ = registry.find_kernel(host_address)).get();
    else
      find(host_address);
  }
  ~KernelUse() {
    if (nested_ || !kernel_) [[unlikely]]
      return;
    mine_.record.store(nullptr, std::memory_order_release);
    light_barrier();
    // The child of a kernel that forked does not know who holds what.
    if (registry_.kernels_.retired().any() && Registry::current() == &registry_) [[unlikely]]
      registry_.kernels_.retired().collect();
  }
  KernelUse(const KernelUse&) = delete;
  KernelUse& operator=(const KernelUse&) = delete;
  const Kernel* get() const { return kernel_; } // null: no registered library has the address

private:
  // Locals stay in registers; a store to an hazard pointer could change a member, for all that the compiler knows.
  void find(const void* host_address) {
    const std::atomic<const KernelIndex*>& published = registry_.kernels_.published();
    HazardPointer& mine = mine_;
    const KernelIndex* index = published.load(std::memory_order_acquire);
    for (;;) {
      mine.index.store(index, std::memory_order_relaxed);
      light_barrier();
      const KernelIndex* const now = published.load(std::memory_order_acquire);
      if (now == index) [[likely]]
        break;
      index = now;
    }
    const Kernel* const found = index->find(host_address).get();
    mine.record.store(found, std::memory_order_release);
    mine.index.store(nullptr, std::memory_order_release);
    kernel_ = found;
  }

  Registry& registry_;
  HazardPointer& mine_;
  const Kernel* kernel_ = nullptr;
  std::shared_ptr<Kernel> nested_; // of a launch from inside a kernel: the thread's hazard pointer is in use
};

} // namespace omptool
