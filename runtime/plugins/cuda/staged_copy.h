// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of much memory that is not page-locked. The driver moves it through buffers of its own, one step after the
// other on the calling thread. Here several pieces are on their way at once: the bytes of one are copied while another
// is transferred, on several threads where there is much to copy.
#pragma once

#include "driver/context.h"
#include "driver/staging.h"
#include "driver/streams.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

namespace omptool::cuda {

constexpr std::size_t kLeastStaged = std::size_t{4} << 20; // less is the driver's own business

class StagedCopy {
public:
  struct Means {
    const Context& context;
    Staging& staging;
    Marks& marks;
  };
  enum class Way { kToDevice, kToHost };
  StagedCopy(const Means& means, Way way, CUdeviceptr device, std::byte* host, std::size_t size, CUstream stream)
      : means_(means), way_(way), device_(device), host_(host), size_(size), stream_(stream) {}

  // All is where it belongs when it returns: after what is before it in the stream. False: there is no page-locked
  // memory for it, and nothing was done.
  bool run(Outcome& outcome);

private:
  // A piece at a time.
  struct Lane {
    StagingSlot slot;
    MarkPtr mark; // behind its transfer
    std::size_t begin = 0, size = 0;
  };
  using Lanes = std::array<Lane, 2>;

  Lanes take_lanes();
  void work(Lanes lanes) noexcept;
  bool begin(Lane& lane);
  void finish(Lane& lane);
  void note(Outcome outcome);

  const Means means_;
  const Way way_;
  const CUdeviceptr device_;
  std::byte* const host_;
  const std::size_t size_;
  CUstream const stream_;
  std::atomic<std::size_t> next_{0}; // byte that is nobody's yet
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;
  Outcome outcome_{nullptr, CUDA_SUCCESS}; // the first failure
};

} // namespace omptool::cuda
