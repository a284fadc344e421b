// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the host for copies from one device to another: page-locked, where one of them has such memory.
#pragma once

#include "rtl/device_memory.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omptool {

class HostBuffer {
public:
  HostBuffer(const DeviceMemory& to, const DeviceMemory& from, std::int64_t size) {
    for (const DeviceMemory* one : {&from, &to})
      if (!locked_ && one->call().memory_alloc) {
        locked_ = one->call().memory_alloc(one->rtl_id(), size, OMPTARGET_MEMORY_HOST);
        owner_ = one;
      }
    if (!locked_)
      plain_.resize(static_cast<std::size_t>(size));
  }
  ~HostBuffer() {
    if (locked_)
      owner_->call().memory_free(owner_->rtl_id(), locked_, OMPTARGET_MEMORY_HOST); // what it cannot free is lost
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  void* bytes() const { return locked_ ? locked_ : const_cast<std::byte*>(plain_.data()); }

private:
  const DeviceMemory* owner_ = nullptr;
  void* locked_ = nullptr;
  std::vector<std::byte> plain_;
};

} // namespace omptool
