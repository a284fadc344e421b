// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace omptool {

struct Mapping;

// A share in a mapping, as a shared_ptr is; but whether it is the only one can be asked between threads.
class MappingPtr {
public:
  MappingPtr() = default;
  MappingPtr(std::nullptr_t) {}
  template <typename... Arguments> static MappingPtr make(Arguments&&... arguments);
  MappingPtr(const MappingPtr& other);
  MappingPtr(MappingPtr&& other) noexcept : mapping_(std::exchange(other.mapping_, nullptr)) {}
  MappingPtr& operator=(MappingPtr other) noexcept {
    std::swap(mapping_, other.mapping_);
    return *this;
  }
  ~MappingPtr();

  Mapping* get() const { return mapping_; }
  Mapping& operator*() const { return *mapping_; }
  Mapping* operator->() const { return mapping_; }
  explicit operator bool() const { return mapping_ != nullptr; }
  bool operator==(const MappingPtr&) const = default;

private:
  explicit MappingPtr(Mapping* made) : mapping_(made) {}
  Mapping* mapping_ = nullptr;
};

} // namespace omptool
