// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device image in this process: a shared object loaded from memory, and its address table.
#pragma once

#include "elf_image.h"
#include "image_file.h"
#include "kernels/crew.h"
#include "kernels/runtime_kernel.h"
#include "omptarget_rtl.h"

#include <memory>
#include <string>
#include <vector>

namespace omptool::host {

// Hooks: functions that images may call (thread_state.h).
struct Hooks {
  const omptool_thread_state* (*thread_state)();
  void (*barrier)();
  void* (*memory)();
};

class Image {
public:
  // Loads a copy of the image's own: two devices never share variables. Null, with last_error set,
  // when it cannot be loaded or does not fit the host's table.
  static std::unique_ptr<Image> load(const __tgt_device_image& image, const Hooks& hooks);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  tgt_target_table* table() { return &table_; }
  // Returns whether this is a kernel of the image, and some code of the image opens parallel regions.
  bool opens_parallel(const void* kernel) const;

private:
  Image() = default;
  bool open(Bytes bytes);
  bool open_file(ImageFile file);
  bool build_table(Bytes bytes, const __tgt_device_image& image);
  bool pair_by_position(Bytes bytes, const __tgt_device_image& image);
  std::vector<__tgt_offload_entry> own_records(Bytes bytes) const;
  void read_own_entries(Bytes bytes);
  template <typename Function> void give(const char* variable, Function function);
  void mark_team_kernels();
  void mark_runtime_kernels();
  void look_for_parallel();
  void explain_processor(Bytes bytes) const;
  void* address_of(const char* name, std::int64_t& size) const;

  std::optional<ImageFile> file_;
  void* handle_ = nullptr;
  std::vector<__tgt_offload_entry> own_entries_; // of the image's own table, for names it does not export
  std::vector<__tgt_offload_entry> entries_;
  std::vector<TeamKernel> team_kernels_;
  std::vector<RuntimeKernel> runtime_kernels_;
  tgt_target_table table_{};
  bool opens_parallel_ = false;
};

} // namespace omptool::host
