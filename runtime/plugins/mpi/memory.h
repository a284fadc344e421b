// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a worker's device. The program hands out its addresses itself, so that an allocation is no message: small
// pieces are parts of slabs, and large ones that come back are kept for the next request of their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace omptool::mpi {

class Memory {
public:
  // `more(size)` returns the address of so much memory of the device, or 0 where the device has no more.
  // `give_back(address)` returns what the plugin's function returns.
  Memory(std::function<std::uint64_t(std::size_t)> more, std::function<std::int32_t(std::uint64_t)> give_back)
      : more_(std::move(more)), give_back_(std::move(give_back)) {}

  std::uint64_t allocate(std::size_t size); // 0: the device has no more
  // Releases the memory. Returns 0, or a failure with last_error set.
  std::int32_t release(std::uint64_t address);

private:
  struct Slab {
    std::size_t piece; // bytes of each
    std::vector<bool> is_used;
  };
  static constexpr std::size_t kSlab = std::size_t{1} << 20, kLargestPiece = kSlab / 32;
  static constexpr std::size_t kLeastPiece = 64, kPage = 4096;
  static constexpr std::size_t kMostKept = std::size_t{256} << 20, kLargestKept = std::size_t{64} << 20;

  std::uint64_t large(std::size_t size);
  std::uint64_t piece_of_slab(std::size_t piece);
  std::uint64_t from_worker(std::size_t size);
  bool give_all_back();

  const std::function<std::uint64_t(std::size_t)> more_;
  const std::function<std::int32_t(std::uint64_t)> give_back_;
  std::mutex mutex_;
  std::map<std::uint64_t, Slab> slabs_;                    // by their address
  std::map<std::size_t, std::vector<std::uint64_t>> free_; // pieces, by their size
  std::map<std::uint64_t, std::size_t> large_;             // those in use
  std::multimap<std::size_t, std::uint64_t> kept_;         // those that are not
  std::size_t bytes_kept_ = 0;
};

} // namespace omptool::mpi
