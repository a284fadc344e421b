// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images on workers. The bytes of an image go to each worker once, whatever devices and libraries have it.
#pragma once

#include "compile/sha256.h"
#include "queue.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace omptool::mpi {

// Image that a device has loaded.
class Image {
public:
  Image(std::uint64_t number, const __tgt_device_image& image, const std::vector<Loaded>& there);
  tgt_target_table* table() { return &table_; }
  std::uint64_t number() const { return number_; }
  bool takes_shape(const void* kernel) const;

private:
  const std::uint64_t number_; // the worker's number for it
  std::vector<__tgt_offload_entry> entries_;
  std::vector<const void*> shaped_; // kernels
  tgt_target_table table_;
};

// The images of all devices.
class ImageStore {
public:
  explicit ImageStore(Queue& queue) : queue_(queue) {}
  // Loads an image. `extents` is null, or has a number for each entry (see __tgt_rtl_load_indirect). Returns null, with
  // last_error set, on failure.
  std::unique_ptr<Image> load(std::size_t worker, std::int32_t device, const __tgt_device_image& image,
                              const std::int64_t* extents);

private:
  Queue& queue_;
  std::mutex mutex_; // held while an image goes to a worker
  std::map<compile::Sha256::Digest, std::uint64_t> numbers_;
  std::set<std::pair<std::size_t, std::uint64_t>> sent_; // to whom, and which
  std::uint64_t last_loaded_ = 0;
};

} // namespace omptool::mpi
