// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices/kernel.h"
#include "devices/kernel_index.h"
#include "threads/hazard_pointers.h"

#include <atomic>
#include <cstddef>
#include <memory>

namespace omptool {

// The kernels of all libraries, by host address. Used under the registry's lock, but for what launches look into: that
// is never changed, and goes when the launches that use it have ended.
class KernelTable {
public:
  const std::atomic<const KernelIndex*>& published() const { return published_; }
  // Indexes and kernels that launches may still use.
  Retired& retired() { return retired_; }
  // Several libraries have a kernel of one name, with one address: some address has to be asked for.
  bool any_apart() const { return any_apart_.load(std::memory_order_acquire); }

  const Kernel* find(const void* host_address) const { return index_->find(host_address); }
  std::shared_ptr<Kernel> shared(const void* host_address) const { return index_->shared(host_address); }
  // Returns the address that stands for the kernel of the caller's own executable or library.
  const void* meant_by(const void* host_address, const void* caller) const;
  // Returns the index with the library's kernels, or without them, to be published.
  KernelIndex with(const std::shared_ptr<Library>& library);
  KernelIndex without(const std::shared_ptr<Library>& library);
  void publish(KernelIndex changed);

private:
  void list(KernelIndex& index, const std::shared_ptr<Library>& library, std::size_t number);
  void list_apart(KernelIndex& index, const Kernel& kernel);
  void unlist(KernelIndex& index, const std::shared_ptr<Library>& library, std::size_t number);

  std::shared_ptr<const KernelIndex> index_ = std::make_shared<KernelIndex>();
  std::atomic<const KernelIndex*> published_{index_.get()};
  std::atomic<bool> any_apart_{false};
  Retired retired_;
};

} // namespace omptool
