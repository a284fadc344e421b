// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device image that is loaded: a program of liboffload's, and its address table.
#pragma once

#include "discovery.h"
#include "kernel.h"
#include "omptarget_rtl.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace omptool::liboffload {

// Target: the parts of a device that images are made for.
struct Target {
  const Library& library;
  const Found& found;
  ol_device host;
  ol_context context;
};

class Image {
public:
  // Loads an image. Returns null, with last_error set, if that fails or if the image does not fit the host's table.
  static std::unique_ptr<Image> load(const Target& target, const __tgt_device_image& image);
  explicit Image(const Target& target) : target_(target) {}
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  tgt_target_table* table() { return &table_; }

private:
  // Functions that return a failure, or "".
  std::string open(const __tgt_device_image& image);
  std::string set_numbers();
  std::string add(const __tgt_offload_entry& wanted);
  std::string add_kernel(const char* name, __tgt_offload_entry& found);
  std::string add_variable(const __tgt_offload_entry& wanted, __tgt_offload_entry& found);
  std::string read_kernel(const std::string& name, std::optional<gpu::ClangKernel>& kernel);
  // Finds a variable. Address 0: the image has no such variable.
  std::string find_variable(const std::string& name, void*& address, std::size_t& size);
  bool has_name(const std::string& name) const;
  std::string write(void* to, const void* from, std::size_t size);
  std::string read(const void* from, void* to, std::size_t size);

  const Target target_;
  std::vector<std::byte> bytes_; // the library may look into them as long as it has the program
  ol_program program_ = nullptr;
  bool is_clangs_ = false;
  std::deque<Kernel> kernels_;
  std::vector<__tgt_offload_entry> entries_;
  tgt_target_table table_{};
};

} // namespace omptool::liboffload
