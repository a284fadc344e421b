// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gather.h"

#include <algorithm>
#include <cstring>

namespace omptool::cuda {

Gather::Gather(Device& device, StagingSlot slot, const Piece& first)
    : device_(device), slot_(std::move(slot)), begin_(first.device), end_(first.device + first.size) {
  read(first);
}

bool Gather::add(const Piece& piece) {
  const CUdeviceptr end = std::max(end_, piece.device + piece.size);
  if (piece.device < begin_ || end - begin_ > device_.gathers().slot_size() ||
      !device_.memory().is_in_one_slab(begin_, end - begin_))
    return false;
  if (piece.device > end_ && !device_.memory().are_neighbours(end_, piece.device))
    return false;
  end_ = end;
  read(piece);
  return true;
}

void Gather::read(const Piece& piece) const {
  std::memcpy(slot_.begin() + (piece.device - begin_), piece.host, piece.size);
}

Outcome Gather::send(CUstream stream) const {
  const Context& context = device_.context();
  return context.in_stream(
      [&] { return OMPTOOL_CUDA(context.driver, cuMemcpyHtoDAsync_v2, begin_, slot_.begin(), end_ - begin_, stream); });
}

// The transfer skips bytes of others that lie between the pieces: their owners may write them.
bool Scatter::add(const Piece& piece) {
  Memory& memory = device_.memory();
  const CUdeviceptr its_end = piece.device + piece.size;
  const CUdeviceptr begin = std::min(begin_, piece.device), end = std::max(end_, its_end);
  if (end - begin > device_.gathers().slot_size() || !memory.is_in_one_slab(begin, end - begin))
    return false;
  if ((its_end < begin_ && !memory.are_neighbours(its_end, begin_)) ||
      (piece.device > end_ && !memory.are_neighbours(end_, piece.device)))
    return false;
  begin_ = begin;
  end_ = end;
  return true;
}

Outcome Scatter::fetch(const StagingSlot& slot, CUstream stream) const {
  const Context& context = device_.context();
  return context.in_stream(
      [&] { return OMPTOOL_CUDA(context.driver, cuMemcpyDtoHAsync_v2, slot.begin(), begin_, end_ - begin_, stream); });
}

void Scatter::land(const StagingSlot& slot, const Piece& piece) const {
  std::memcpy(piece.host, slot.begin() + (piece.device - begin_), piece.size);
}

} // namespace omptool::cuda
