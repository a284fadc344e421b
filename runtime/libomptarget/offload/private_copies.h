// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory of kPrivate rows, for the length of one launch.
#pragma once

#include "devices/registry.h"
#include "rtl/command_list.h"

#include <string>

namespace omptool {

class PrivateCopies {
public:
  PrivateCopies(Device& device, const std::string& region, std::size_t rows)
      : device_(device), region_(region), copies_(rows) {}
  ~PrivateCopies() { release(); }
  PrivateCopies(const PrivateCopies&) = delete;
  PrivateCopies& operator=(const PrivateCopies&) = delete;

  // Memory for the row's copy. `argument` becomes the device address of its base. False: there is none.
  bool allocate(std::size_t index, const Row& row, void*& argument);
  // Reads what the copy begins with now, rather than in the queue's order.
  void read(std::size_t index, const Row& row, CommandList& commands);
  // Sends the bytes that the copy begins with. False: the device did not take them.
  bool fill(std::size_t index, const Row& row, CommandList& commands);
  // Writes a pointer into the copies that hold the one at `cell`. False: a device did not take it.
  bool attach(const void* cell, void* value, CommandList& commands);
  // Nothing uses them any more.
  [[gnu::always_inline]] void release() {
    if (copies_.size() != 0)
      release_all();
  }

private:
  void release_all();

  struct Copy {
    std::byte* device;
    const void* host;
    std::int64_t size;
    bool on_host;
    const void* source; // what it begins with
  };
  Device& device_;
  const std::string& region_;
  PerRow<Copy> copies_;
};

} // namespace omptool
