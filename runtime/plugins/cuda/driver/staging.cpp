// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "staging.h"

#include "fault_signals.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>

namespace omptool::cuda {
namespace {

// Piece and lane sizes, measured on an H200 with 16 processors: smaller pieces and buffers cost more calls, and more
// lanes gain nothing.
constexpr std::size_t kPiece = std::size_t{2} << 20, kLeast = 4 * kPiece, kMostLanes = 8;

// Helper threads. The destructor joins them, on every way out of their creator.
class Helpers {
public:
  Helpers() = default;
  ~Helpers() {
    for (std::thread& thread : threads_)
      thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  template <typename Work> void add(Work work) { threads_.emplace_back(std::move(work)); }

private:
  std::vector<std::thread> threads_;
};

} // namespace

struct Staging::Job {
  const Way way;
  const CUdeviceptr device;
  std::byte* const host;
  const std::size_t size;
  std::atomic<std::size_t> next{0}; // where the first piece begins that no lane has taken
  std::mutex mutex{};
  Outcome outcome{"cuStreamSynchronize", CUDA_SUCCESS};

  void fail(Outcome why) {
    next = size; // nobody takes another piece
    const std::lock_guard lock(mutex);
    if (outcome.ok())
      outcome = why;
  }
};

bool Staging::is_pageable(const void* host) const {
  constexpr int kUnknown = 0; // to the driver
  int type = kUnknown;
  CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* place = &type;
  const Outcome outcome =
      OMPTOOL_CUDA(context_.driver, cuPointerGetAttributes, 1, &wanted, &place, reinterpret_cast<CUdeviceptr>(host));
  return outcome.ok() && type == kUnknown;
}

Outcome Staging::add_lane() {
  Lane lane;
  void* buffer = nullptr;
  Outcome outcome = OMPTOOL_CUDA(context_.driver, cuMemHostAlloc, &buffer, kPiece, CU_MEMHOSTALLOC_PORTABLE);
  if (!outcome.ok())
    return outcome;
  lane.buffer = static_cast<std::byte*>(buffer);
  outcome = OMPTOOL_CUDA(context_.driver, cuStreamCreate, &lane.stream, CU_STREAM_NON_BLOCKING);
  if (outcome.ok())
    lanes_.push_back(lane);
  else
    context_.driver.cuMemFreeHost(buffer);
  return outcome;
}

// Grows to `count` lanes if there is memory; fewer lanes work, too.
void Staging::grow_to(std::size_t count) {
  while (lanes_.size() < count && add_lane().ok()) {
  }
}

Outcome Staging::carry_piece(const Lane& lane, const Job& job, std::size_t at) const {
  const Driver& driver = context_.driver;
  const std::size_t bytes = std::min(kPiece, job.size - at);
  const bool comes_in = job.way == Way::kToDevice;
  if (comes_in)
    std::memcpy(lane.buffer, job.host + at, bytes);
  Outcome outcome = comes_in
                        ? OMPTOOL_CUDA(driver, cuMemcpyHtoDAsync_v2, job.device + at, lane.buffer, bytes, lane.stream)
                        : OMPTOOL_CUDA(driver, cuMemcpyDtoHAsync_v2, lane.buffer, job.device + at, bytes, lane.stream);
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuStreamSynchronize, lane.stream);
  if (outcome.ok() && !comes_in)
    std::memcpy(job.host + at, lane.buffer, bytes);
  return outcome;
}

void Staging::carry(Lane& lane, Job& job) const {
  Outcome outcome = context_.enter();
  for (std::size_t at = 0; outcome.ok() && (at = job.next.fetch_add(kPiece)) < job.size;)
    outcome = carry_piece(lane, job, at);
  if (outcome.ok())
    return;
  lane.is_broken = true;
  job.fail(outcome);
}

std::optional<Outcome> Staging::copy(CUstream behind, Way way, CUdeviceptr device, void* host, std::size_t size) {
  const std::size_t count = std::min({kMostLanes, size / kPiece, std::size_t{std::thread::hardware_concurrency()}});
  if (size < kLeast || count < 2 || !is_pageable(host))
    return std::nullopt;
  // Waits without the lock: the stream's commands may depend on another thread's copy.
  if (const Outcome outcome = OMPTOOL_CUDA(context_.driver, cuStreamSynchronize, behind); !outcome.ok())
    return outcome;
  const std::lock_guard lock(mutex_);
  grow_to(count);
  if (lanes_.empty())
    return std::nullopt;
  Job job{way, device, static_cast<std::byte*>(host), size};
  {
    Helpers helpers;
    try {
      for (std::size_t i = 1; i < std::min(count, lanes_.size()); ++i)
        helpers.add([this, &job, &lane = lanes_[i]] {
          receive_fault_signals(); // of the host's memory
          carry(lane, job);
        });
    } catch (const std::system_error&) { // there is no thread for it
    }
    carry(lanes_.front(), job);
  }
  std::erase_if(lanes_, [](const Lane& lane) { return lane.is_broken; });
  return job.outcome;
}

} // namespace omptool::cuda
