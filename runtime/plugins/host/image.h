// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device image in this process: a shared object loaded from memory, and its address table.
#pragma once

#include "elf_image.h"
#include "kernels/thread_state.h"
#include "omptarget_rtl.h"

#include <memory>
#include <string>
#include <vector>

namespace omptool::host {

using ThreadStateFunction = const omptool_thread_state* (*)();

class Image {
public:
  // Loads a copy of the image's own: two devices never share variables. Null, with last_error set,
  // when it cannot be loaded or does not fit the host's table.
  static std::unique_ptr<Image> load(const __tgt_device_image& image, ThreadStateFunction thread_state);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  tgt_target_table* table() { return &table_; }

private:
  Image() = default;
  bool open(Bytes bytes);
  bool build_table(Bytes bytes, const __tgt_device_image& image);
  bool pair_by_position(Bytes bytes, const __tgt_device_image& image);
  std::vector<__tgt_offload_entry> own_records(Bytes bytes) const;
  void read_own_entries(Bytes bytes);
  void* address_of(const char* name, std::int64_t& size) const;

  void* handle_ = nullptr;
  std::vector<__tgt_offload_entry> own_entries_; // of the image's own table, for names it does not export
  std::vector<__tgt_offload_entry> entries_;
  tgt_target_table table_{};
};

} // namespace omptool::host
