// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small copies that share one transfer: copies of a construct's small objects, which are neighbours on the device
// (driver/slab.h). The bytes between two neighbours belong to no object.
#pragma once

#include "device.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omptool::cuda {

// Piece of a transfer; one side of its copy is host memory.
struct Piece {
  CUdeviceptr device = 0;
  std::byte* host = nullptr;
  std::size_t size = 0;
};
constexpr std::size_t kLargestGathered = Slab::kLargestPiece;
constexpr std::size_t kMostGathered = 1 << 16; // bytes of a transfer

// Gathers pieces for one transfer to the device, in the order of add().
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

// Scatters one transfer from the device to several pieces: each is in place once the transfer has ended and land() was
// called.
class Scatter {
public:
  Scatter(Device& device, const Piece& first)
      : device_(device), begin_(first.device), end_(first.device + first.size) {}
  // Adds a piece. Returns false if it needs another transfer.
  bool add(const Piece& piece);
  Outcome fetch(CUstream stream);
  void land(const Piece& piece) const;

private:
  Device& device_;
  CUdeviceptr begin_, end_;
  std::vector<std::byte> bytes_;
};

} // namespace omptool::cuda
