// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "staged_copy.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace omptool::cuda {
namespace {

// One core copies no faster than a part of what a link takes, and to begin a thread takes tens of microseconds.
constexpr std::size_t kMostHelpers = 3, kBytesOfHelper = std::size_t{8} << 20;

std::size_t helpers_for(std::size_t size) {
  const std::size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
  return std::min({kMostHelpers, cores - 1, size / kBytesOfHelper});
}

// Blocks signals while a thread begins, so that the new thread runs none of the program's handlers.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
  sigset_t before_;
};

} // namespace

StagedCopy::Lanes StagedCopy::take_lanes() {
  Lanes lanes;
  for (Lane& lane : lanes)
    lane.slot = means_.staging.take();
  return lanes;
}

bool StagedCopy::run(Outcome& outcome) {
  Lanes own = take_lanes();
  if (!own[0].slot)
    return false;
  std::array<std::jthread, kMostHelpers> helpers;
  for (std::size_t i = 0; i < helpers_for(size_); ++i) {
    Lanes lanes = take_lanes();
    if (!lanes[0].slot)
      break;
    try {
      const SignalsBlocked blocked;
      helpers[i] = std::jthread([this, mine = std::move(lanes)]() mutable { work(std::move(mine)); });
    } catch (const std::system_error&) { // no thread: there is one the less
      break;
    }
  }
  work(std::move(own));
  for (std::jthread& helper : helpers)
    if (helper.joinable())
      helper.join();
  outcome = outcome_;
  return true;
}

void StagedCopy::work(Lanes lanes) noexcept {
  const std::size_t count = lanes[1].slot ? 2 : 1;
  for (std::size_t i = 0;; i = (i + 1) % count) {
    finish(lanes[i]);
    if (!begin(lanes[i]))
      break;
  }
  for (Lane& lane : lanes)
    finish(lane);
}

// False: nothing is left to be begun.
bool StagedCopy::begin(Lane& lane) {
  const std::size_t most = means_.staging.slot_size();
  if (!lane.slot || has_failed_ || (lane.begin = next_.fetch_add(most)) >= size_)
    return false;
  lane.size = std::min(most, size_ - lane.begin);
  const Context& context = means_.context;
  if (way_ == Way::kToDevice)
    std::memcpy(lane.slot.begin(), host_ + lane.begin, lane.size);
  const Outcome outcome = context.in_stream([&] {
    return way_ == Way::kToDevice ? OMPTOOL_CUDA(context.driver, cuMemcpyHtoDAsync_v2, device_ + lane.begin,
                                                 lane.slot.begin(), lane.size, stream_)
                                  : OMPTOOL_CUDA(context.driver, cuMemcpyDtoHAsync_v2, lane.slot.begin(),
                                                 device_ + lane.begin, lane.size, stream_);
  });
  if (!outcome.ok())
    return note(outcome), false;
  Outcome recorded{nullptr, CUDA_SUCCESS};
  lane.mark = means_.marks.record(stream_, recorded);
  if (lane.mark)
    return true;
  note(recorded);
  if (!OMPTOOL_CUDA(context.driver, cuStreamSynchronize, stream_).ok())
    lane.slot.abandon();
  return false;
}

void StagedCopy::finish(Lane& lane) {
  const MarkPtr mark = std::exchange(lane.mark, nullptr);
  if (!mark)
    return;
  const Context& context = means_.context;
  const Outcome outcome =
      context.in_stream([&] { return OMPTOOL_CUDA(context.driver, cuEventSynchronize, mark->event); });
  if (!outcome.ok()) {
    note(outcome);
    lane.slot.abandon();
  } else if (way_ == Way::kToHost) {
    std::memcpy(host_ + lane.begin, lane.slot.begin(), lane.size);
  }
}

void StagedCopy::note(Outcome outcome) {
  const std::lock_guard lock(mutex_);
  if (!has_failed_.exchange(true))
    outcome_ = outcome;
}

} // namespace omptool::cuda
