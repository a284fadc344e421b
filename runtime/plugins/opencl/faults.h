// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that drivers for CPUs have and that have not ended. One that faults ends the program on whichever thread
// runs it, most often one of the driver's: what is known there is no more than these.
#pragma once

#include "discovery.h"

#include <atomic>
#include <string>
#include <utility>

namespace omptool::opencl {

// Running kernel: its name is registered until this object is destroyed.
class Running {
public:
  Running() = default;
  Running(const Found& found, const std::string& name); // of another device: nothing
  ~Running();
  Running(Running&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
  Running& operator=(Running&& other) noexcept {
    std::swap(place_, other.place_);
    return *this;
  }

private:
  std::atomic<const char*>* place_ = nullptr;
};

// Names running kernels on stderr when code outside of files, such as the output of a driver's compiler, ends by a
// signal. Called after such a driver has compiled something, because Intel's driver handles these signals from then on.
void name_running_kernels(const Found& found);

} // namespace omptool::opencl
