// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device image in a GPU's context, and its address table.
#pragma once

#include "driver/context.h"
#include "image_kind.h"
#include "kernel.h"
#include "omptarget_rtl.h"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace omptool::cuda {

// Names the device, of all devices, that an image is loaded on.
struct DevicePlace {
  std::int32_t number;
  std::int32_t count;
  const DeviceLimits& limits;
};

// Extents: for each entry, the number of bytes of host memory that its pointer leads to, or 0 (omptarget_rtl.h,
// load_indirect). May be empty.
using Extents = std::span<const std::int64_t>;

class Image {
public:
  // Loads an image. Returns null, with last_error set, if that fails or if the image does not fit the host's table.
  static std::unique_ptr<Image> load(const Context& context, const __tgt_device_image& image, Extents extents,
                                     const DevicePlace& device);
  explicit Image(const Context& context) : context_(context) {}
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  tgt_target_table* table() { return &table_; }
  std::int32_t unload();

private:
  bool open(Bytes bytes);
  bool build_table(const __tgt_device_image& image);
  bool find(const __tgt_offload_entry& wanted, __tgt_offload_entry& found);
  bool find_environment(const DevicePlace& device);
  bool run_functions(const char* which, const std::vector<std::string>& names);
  bool set_device_number(std::int32_t number);
  bool set_indirect_calls(const __tgt_device_image& image, Extents extents);
  Outcome close(); // in its context
  // Finds a variable. Returns false, with last_error set, if the driver fails. An address of 0: the image has no such
  // variable.
  bool find_variable(const char* name, CUdeviceptr& address, std::size_t& size) const;

  const Context& context_;
  CUmodule module_ = nullptr;
  CUdeviceptr indirect_calls_ = 0; // their table
  bool is_clangs_ = false;
  std::vector<std::string> destructors_;
  std::deque<Kernel> kernels_;
  std::vector<__tgt_offload_entry> entries_;
  tgt_target_table table_{};
};

} // namespace omptool::cuda
