// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The streams of a device: each is used by one operation, or chain of them, at a time.
#pragma once

#include "context.h"

#include <mutex>
#include <vector>

namespace omptool::cuda {

class Streams {
public:
  explicit Streams(const Context& context) : context_(context) {}

  // One that has nothing to do. Null where there is none: `failure` is what the call returns, last_error says why.
  CUstream take(std::int32_t& failure);
  void give_back(CUstream stream);

private:
  const Context& context_;
  std::mutex mutex_;
  std::vector<CUstream> free_;
};

// A stream for a call that waits for what it has queued. Where the wait failed, nobody gets the stream any more.
class StreamOfCall {
public:
  explicit StreamOfCall(Streams& streams) : streams_(streams), stream_(streams.take(failure_)) {}
  ~StreamOfCall() {
    if (stream_)
      streams_.give_back(stream_);
  }
  StreamOfCall(const StreamOfCall&) = delete;
  StreamOfCall& operator=(const StreamOfCall&) = delete;

  CUstream get() const { return stream_; }
  std::int32_t failure() const { return failure_; }
  void abandon() { stream_ = nullptr; }

private:
  Streams& streams_;
  std::int32_t failure_ = 0;
  CUstream stream_;
};

} // namespace omptool::cuda
