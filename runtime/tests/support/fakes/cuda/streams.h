// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: streams and events. Operations in a stream run on the stream's thread, one after the other.
#pragma once

#include "fake.h"

#include <deque>
#include <functional>
#include <memory>

namespace fake_cuda {

struct Stream {
  struct Work {
    std::function<void()> work;
    std::shared_ptr<bool> is_done; // when the stream is ready for the next; or null
  };
  int device = 0;
  bool is_ended = false;
  bool is_busy = false;
  std::deque<Work> waiting;
};

// Event: its last recording.
struct Event {
  std::shared_ptr<bool> is_done = std::make_shared<bool>(true);
};

// Finds a stream. Returns null, after a line on stderr, if there is none.
Stream* find(CUstream stream);
Event* find(CUevent event);
CUstream make_stream(int device);

void add(Stream& stream, std::function<void()> work, std::shared_ptr<bool> is_done = nullptr);
bool is_idle(Stream& stream); // with the lock held
// Waits until the stream is idle.
void wait_for(Stream& stream);
// Until all streams of a device have nothing to do.
void wait_for_all(int device);

} // namespace fake_cuda
