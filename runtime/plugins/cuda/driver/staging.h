// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large copies between the device and pageable memory of the host. The driver carries these over one buffer, on one
// thread, at a tenth to a quarter of the bus's speed. Here several threads carry them, each over a page-locked buffer
// of its own (docs/gpus.md has the figures).
#pragma once

#include "context.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace omptool::cuda {

class Staging {
public:
  enum class Way { kToDevice, kToHost };

  explicit Staging(const Context& context) : context_(context) {}

  // Copies behind the stream's present content, and returns when the copy has ended. Returns nothing, without a copy,
  // if the driver's own copy is as fast: for few bytes, for memory that is page-locked or managed, with one processor,
  // or without page-locked memory for buffers.
  std::optional<Outcome> copy(CUstream behind, Way way, CUdeviceptr device, void* host, std::size_t size);

private:
  // Belongs to one thread at a time.
  struct Lane {
    CUstream stream = nullptr;
    std::byte* buffer = nullptr;
    bool is_broken = false; // the driver may still use its buffer
  };
  struct Job;

  bool is_pageable(const void* host) const;
  Outcome add_lane();
  void grow_to(std::size_t count);
  Outcome carry_piece(const Lane& lane, const Job& job, std::size_t at) const;
  void carry(Lane& lane, Job& job) const;

  const Context& context_;
  std::mutex mutex_; // of one copy at a time: two would share the bus
  std::vector<Lane> lanes_;
};

} // namespace omptool::cuda
