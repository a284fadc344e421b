// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device image that is loaded: a program of OpenCL, and its address table.
#pragma once

#include "launch.h"
#include "omptarget_rtl.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace omptool::opencl {

// Returns why the bytes are no image for this plugin, or "". The plugin loads SPIR-V, bitcode for SPIR-V, and the
// output of Intel's compiler for GPUs.
std::string fault_of_image(Bytes bytes);

// Target: the parts of a device that images are made for.
struct Target {
  const Loader& cl;
  const Found& found;
  cl_context context;
  Memory& memory;
  std::int32_t number; // among the plugin's
};

class Image {
public:
  // Loads an image. Returns null, with last_error set, if that fails or if the image does not fit the host's table.
  static std::unique_ptr<Image> load(const Target& target, const __tgt_device_image& image);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  tgt_target_table* table() { return &table_; }
  // The kernel that `omptool link` makes of the constructors of a program's variables; null: there are none. Nothing
  // runs destructors: at the end of a program the driver may have ended already.
  Kernel* constructors() { return static_cast<Kernel*>(kernel_named("__omptool_constructors")); }

private:
  using Entries = std::span<const __tgt_offload_entry>;

  explicit Image(const Target& target) : target_(target) {}
  // Build and create the program. Return why it cannot be done, or "".
  std::string build(Bytes bytes);
  std::string create(Bytes bytes);
  std::string build_log() const;
  void list_kernels();
  std::string add_by_name(const __tgt_offload_entry& wanted);
  std::string add_variable(const __tgt_offload_entry& wanted, __tgt_offload_entry& found);
  void add_all_kernels();
  void* kernel_named(const std::string& name);

  const Target target_;
  cl_program program_ = nullptr;
  bool is_spirv_ = false;
  Module contents_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<__tgt_offload_entry> entries_;
  tgt_target_table table_{};
};

} // namespace omptool::opencl
