// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "streams.h"

namespace omptool::cuda {

CUstream Streams::take(std::int32_t& failure) {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      CUstream const stream = free_.back();
      free_.pop_back();
      return stream;
    }
  }
  CUstream made = nullptr;
  Outcome outcome = context_.enter();
  if (outcome.ok()) // what the program does in the default stream is not waited for
    outcome = context_.taking_memory(
        [&] { return OMPTOOL_CUDA(context_.driver, cuStreamCreate, &made, CU_STREAM_NON_BLOCKING); });
  if (outcome.ok())
    return made;
  failure = fail_of(context_.driver, outcome, "no stream");
  return nullptr;
}

void Streams::give_back(CUstream stream) {
  const std::lock_guard lock(mutex_);
  free_.push_back(stream);
}

Outcome Marks::take(CUevent& event) {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      event = free_.back();
      free_.pop_back();
      return {"cuEventCreate", CUDA_SUCCESS};
    }
  }
  const Outcome outcome = context_.enter();
  return outcome.ok() ? context_.taking_memory([&] {
    return OMPTOOL_CUDA(context_.driver, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  })
                      : outcome;
}

MarkPtr Marks::record(CUstream stream, std::int32_t& failure) {
  CUevent event = nullptr;
  Outcome outcome = take(event);
  MarkPtr mark = outcome.ok() ? std::make_shared<const Mark>(*this, event) : nullptr;
  if (outcome.ok())
    outcome = context_.in_stream([&] { return OMPTOOL_CUDA(context_.driver, cuEventRecord, event, stream); });
  if (outcome.ok())
    return mark;
  failure = fail_of(context_.driver, outcome, "no event");
  return nullptr;
}

void Marks::give_back(CUevent event) {
  const std::lock_guard lock(mutex_);
  free_.push_back(event);
}

} // namespace omptool::cuda
