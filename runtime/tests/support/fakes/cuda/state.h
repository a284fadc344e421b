// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the devices and the contexts of threads.
#pragma once

#include "fake.h"

namespace fake_cuda {

constexpr int kUnits = 4, kMostThreads = 1024, kThreadsOfUnit = 2048, kUsualMemory = 48 << 10, kMostMemory = 227 << 10;

int device_count();
int architecture();
// Current device of the calling thread; -1: none.
int current_device();
// Returns the result that a faulted kernel has left, or success.
CUresult fault_now();
// Returns whether the current context is the stream's; else sets `result` to the fault.
struct Stream;
bool is_current(const Stream& stream, CUresult& result);

} // namespace fake_cuda
