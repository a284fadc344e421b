// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace of one device (OpenMP 5.2, 19.2.5): records of what has ended there, in buffers of the tool's. Times are
// nanoseconds of the monotonic clock.
#pragma once

#include "observe/ompt/abi.h"

#include <chrono>
#include <cstdint>
#include <mutex>

namespace omptool::ompt {

class DeviceTrace {
public:
  DeviceTrace(int device, unsigned processors) : device_(device), processors_(processors) {}

  static std::uint64_t time_of(std::chrono::steady_clock::time_point point) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(point.time_since_epoch()).count());
  }
  // Returns a function of the tracing interface, or null.
  static AnyFunction look_up(const char* name);

  // Takes the record, if the tool traces such; without a buffer for it, it is lost, as the interface has it.
  void add(const Record& record);
  unsigned processors() const { return processors_; }

  // Set, start and stop: called by the interface's functions.
  SetResult set(bool enable, int type);
  bool start(BufferRequest request, BufferComplete complete);
  bool pause(bool is_paused);
  bool flush();
  bool stop();

private:
  struct Buffer {
    std::byte* bytes = nullptr;
    std::size_t size = 0, used = 0;
    bool add(const Record& record); // false: it has no room
  };
  void give_back(const Buffer& buffer) const;
  Buffer ask() const;

  const int device_;
  const unsigned processors_;
  std::mutex mutex_; // of all below; the tool is called without it
  unsigned types_ = 0;
  bool is_started_ = false, is_paused_ = false;
  BufferRequest request_ = nullptr;
  BufferComplete complete_ = nullptr;
  Buffer buffer_;
};

} // namespace omptool::ompt
