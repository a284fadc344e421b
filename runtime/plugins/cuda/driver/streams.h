// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The streams of a device: each is used by one operation, or chain of them, at a time. And its events of the driver's,
// here marks: places in a stream.
#pragma once

#include "context.h"

#include <memory>
#include <mutex>
#include <vector>

namespace omptool::cuda {

class Streams {
public:
  explicit Streams(const Context& context) : context_(context) {}

  // Returns an idle stream, or null: then `failure` is the result for the caller, and last_error has the reason.
  CUstream take(std::int32_t& failure);
  void give_back(CUstream stream);

private:
  const Context& context_;
  std::mutex mutex_;
  std::vector<CUstream> free_;
};

// Stream for a call that waits for the commands that it has enqueued. If the wait fails, the stream is not reused.
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

class Marks;

// Mark: a position in a stream that operations wait for.
class Mark {
public:
  Mark(Marks& marks, CUevent its_event) : event(its_event), marks_(marks) {}
  ~Mark();
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  const CUevent event;

private:
  Marks& marks_;
};
using MarkPtr = std::shared_ptr<const Mark>;

class Marks {
public:
  explicit Marks(const Context& context) : context_(context) {}

  // Records a mark behind the stream's present content. Returns null on failure: then `failure` is the result for the
  // caller, and last_error has the reason.
  MarkPtr record(CUstream stream, std::int32_t& failure);
  void give_back(CUevent event);

private:
  Outcome take(CUevent& event);

  const Context& context_;
  std::mutex mutex_;
  std::vector<CUevent> free_;
};

inline Mark::~Mark() {
  marks_.give_back(event);
}

} // namespace omptool::cuda
