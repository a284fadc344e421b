// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds values that a call needs for each of its rows.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace omptool {

// Room on the stack for what one call needs per row; only long calls reach the heap.
template <typename T, std::size_t kInline = 16> class PerRow {
public:
  explicit PerRow(std::size_t count) : items_(reinterpret_cast<T*>(room_)), size_(count) {
    if (count > kInline)
      items_ = static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{alignof(T)}));
    std::uninitialized_value_construct_n(items_, count);
  }
  ~PerRow() {
    std::destroy_n(items_, size_);
    if (size_ > kInline)
      ::operator delete(items_, std::align_val_t{alignof(T)});
  }
  PerRow(const PerRow&) = delete;
  PerRow& operator=(const PerRow&) = delete;
  T& operator[](std::size_t index) { return items_[index]; }
  std::size_t size() const { return size_; }
  T* data() { return items_; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }

private:
  alignas(T) std::byte room_[kInline * sizeof(T)];
  T* items_;
  std::size_t size_;
};

} // namespace omptool
