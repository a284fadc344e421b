// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds values that a call needs for each of its rows.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace omptool {

// Per-row data of one call, on the stack; only long calls allocate.
template <typename T, std::size_t kInline = 16> class PerRow {
public:
  explicit PerRow(std::size_t count) : items_(room_for(count)), size_(count) {
    std::uninitialized_value_construct_n(items_, count);
  }
  // Copies these.
  explicit PerRow(std::span<const T> all) : items_(room_for(all.size())), size_(all.size()) {
    std::uninitialized_copy(all.begin(), all.end(), items_);
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
  T* room_for(std::size_t count) {
    return count <= kInline ? reinterpret_cast<T*>(room_)
                            : static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{alignof(T)}));
  }

  alignas(T) std::byte room_[kInline * sizeof(T)];
  T* items_;
  std::size_t size_;
};

} // namespace omptool
