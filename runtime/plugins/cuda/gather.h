// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of few bytes that go in one transfer: those of a construct's small objects, which are neighbours on the device
// (driver/slab.h). Between two of them lie bytes that are nobody's.
#pragma once

#include "device.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omptool::cuda {

// One side of a copy is the host's.
struct Piece {
  CUdeviceptr device = 0;
  std::byte* host = nullptr;
  std::size_t size = 0;
};
constexpr std::size_t kLargestGathered = Slab::kLargestPiece;
constexpr std::size_t kMostGathered = 1 << 16; // bytes of a transfer

// Some that go to the device, in the order in which they are added.
class Gather {
public:
  // Begins with the first, which is_in_one_slab().
  Gather(Device& device, const Piece& first);
  // Reads the host's bytes. False: it goes beside these, not with them.
  bool add(const Piece& piece);
  Outcome send(CUstream stream) const;

private:
  CUdeviceptr end() const { return begin_ + bytes_.size(); }
  void read(const Piece& piece);

  Device& device_;
  const CUdeviceptr begin_;
  std::vector<std::byte> bytes_; // the driver has read them when send() returns
};

// Some that come from the device: each is where it belongs once the transfer has ended and land() was called.
class Scatter {
public:
  Scatter(Device& device, const Piece& first)
      : device_(device), begin_(first.device), end_(first.device + first.size) {}
  // False: its transfer would be another.
  bool add(const Piece& piece);
  Outcome fetch(CUstream stream);
  void land(const Piece& piece) const;

private:
  Device& device_;
  CUdeviceptr begin_, end_;
  std::vector<std::byte> bytes_;
};

} // namespace omptool::cuda
