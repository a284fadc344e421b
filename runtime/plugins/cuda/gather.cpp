// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gather.h"

#include <algorithm>
#include <cstring>

namespace omptool::cuda {

Gather::Gather(Device& device, const Piece& first) : device_(device), begin_(first.device) {
  read(first);
}

bool Gather::add(const Piece& piece) {
  const CUdeviceptr its_end = std::max(end(), piece.device + piece.size);
  if (piece.device < begin_ || its_end - begin_ > kMostGathered ||
      !device_.memory().is_in_one_slab(begin_, its_end - begin_))
    return false;
  if (piece.device > end() && !device_.memory().are_neighbours(end(), piece.device))
    return false;
  read(piece);
  return true;
}

void Gather::read(const Piece& piece) {
  const std::size_t at = piece.device - begin_;
  bytes_.resize(std::max(bytes_.size(), at + piece.size));
  std::memcpy(bytes_.data() + at, piece.host, piece.size);
}

Outcome Gather::send(CUstream stream) const {
  const Context& context = device_.context();
  return context.in_stream(
      [&] { return OMPTOOL_CUDA(context.driver, cuMemcpyHtoDAsync_v2, begin_, bytes_.data(), bytes_.size(), stream); });
}

// Adds a piece, unless bytes of other owners lie between it and the other pieces: those owners may write them
// meanwhile.
bool Scatter::add(const Piece& piece) {
  Memory& memory = device_.memory();
  const CUdeviceptr its_end = piece.device + piece.size;
  const CUdeviceptr begin = std::min(begin_, piece.device), end = std::max(end_, its_end);
  if (end - begin > kMostGathered || !memory.is_in_one_slab(begin, end - begin))
    return false;
  if ((its_end < begin_ && !memory.are_neighbours(its_end, begin_)) ||
      (piece.device > end_ && !memory.are_neighbours(end_, piece.device)))
    return false;
  begin_ = begin;
  end_ = end;
  return true;
}

Outcome Scatter::fetch(CUstream stream) {
  const Context& context = device_.context();
  bytes_.resize(end_ - begin_);
  return context.in_stream(
      [&] { return OMPTOOL_CUDA(context.driver, cuMemcpyDtoHAsync_v2, bytes_.data(), begin_, bytes_.size(), stream); });
}

void Scatter::land(const Piece& piece) const {
  std::memcpy(piece.host, bytes_.data() + (piece.device - begin_), piece.size);
}

} // namespace omptool::cuda
