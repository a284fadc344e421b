// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "small_blocks.h"

#include "checked_memory.h"
#include "large_blocks.h"
#include "thread_exit.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <utility>

namespace omptool::small_blocks {
namespace {

constexpr std::size_t kLargestPiece = 1024;
constexpr std::size_t kSizes = kLargestPiece / kAlignment;
constexpr std::size_t kRun = std::size_t{1} << 16;      // bytes that hold pieces of one size
constexpr std::size_t kReserved = std::size_t{1} << 36; // of addresses; pages appear when they are used
constexpr std::size_t kHugePage = std::size_t{1} << 21; // the first is of small ones: programs may have little data
constexpr std::uint32_t kMostKept = 256;                // free pieces of a size in a thread's list

struct Piece {
  Piece* next;
};

// Free pieces that no thread has, and memory that has not been divided yet.
class Common {
public:
  // Takes up to `most` free pieces of the size, linked, or returns null if there is no memory.
  Piece* take(std::size_t size, std::uint32_t most, std::uint32_t& count) {
    const std::lock_guard lock(mutex_);
    Piece* first = nullptr;
    Piece** last = &first;
    for (count = 0; count < most; ++count) { // in order of their addresses, as far as they are new
      Piece* const piece = free_[size] ? std::exchange(free_[size], free_[size]->next) : carve(size);
      if (!piece)
        break;
      piece->next = nullptr;
      last = &(*last = piece)->next;
    }
    return first;
  }
  void give(std::size_t size, Piece* first, Piece* last) {
    const std::lock_guard lock(mutex_);
    last->next = free_[size];
    free_[size] = first;
  }
  // Locks the pool while the process forks, so that the child finds it unlocked by others.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  bool owns(const void* memory) const {
    const std::uintptr_t base = base_.load(std::memory_order_relaxed);
    return base && reinterpret_cast<std::uintptr_t>(memory) - base < kReserved;
  }
  // Returns the size of a piece that this pool owns.
  std::size_t size_of(const void* memory) const {
    const std::uintptr_t base = base_.load(std::memory_order_relaxed);
    return sizes_[(reinterpret_cast<std::uintptr_t>(memory) - base) / kRun];
  }

private:
  Piece* carve(std::size_t size) {
    const std::size_t bytes = (size + 1) * kAlignment;
    if (left_[size] < bytes && !begin_run(size))
      return nullptr;
    left_[size] -= bytes;
    return reinterpret_cast<Piece*>(std::exchange(next_[size], next_[size] + bytes));
  }
  bool begin_run(std::size_t size) {
    if (!base_ && !reserve())
      return false;
    if (used_ + kRun > kReserved)
      return false;
    sizes_[used_ / kRun] = static_cast<std::uint8_t>(size);
    next_[size] = base_ + used_;
    left_[size] = kRun;
    used_ += kRun;
    return true;
  }
  bool reserve();

  std::mutex mutex_;
  std::atomic<std::uintptr_t> base_{0};
  bool refused_ = false;
  std::size_t used_ = 0;
  std::array<Piece*, kSizes> free_{};
  std::array<std::uintptr_t, kSizes> next_{};
  std::array<std::size_t, kSizes> left_{};
  std::uint8_t* sizes_ =
      nullptr; // of the pieces in each run, in lines less one; written before any of them is given out
};

constinit Common common;

bool Common::reserve() {
  if (refused_)
    return false;
  constexpr std::size_t kRuns = kReserved / kRun;
  void* const memory = ::mmap(nullptr, kReserved + kHugePage + kRuns, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  refused_ = memory == MAP_FAILED; // a limit on addresses: every piece comes from the C library
  if (refused_)
    return false;
  ::pthread_atfork([] { common.lock(); }, [] { common.unlock(); }, [] { common.unlock(); });
  const std::uintptr_t base = (reinterpret_cast<std::uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
  ::madvise(reinterpret_cast<void*>(base + kHugePage), kReserved - kHugePage, MADV_HUGEPAGE);
  sizes_ = reinterpret_cast<std::uint8_t*>(base + kReserved);
  base_ = base;
  return true;
}

struct Kept {
  std::array<Piece*, kSizes> first{};
  std::array<std::uint32_t, kSizes> count{};
};
thread_local constinit Kept kept __attribute__((tls_model("initial-exec")));

void give_back(std::size_t size, std::uint32_t count) {
  Piece* const first = kept.first[size];
  Piece* last = first;
  for (std::uint32_t i = 1; i < count; ++i)
    last = last->next;
  kept.first[size] = last->next;
  kept.count[size] -= count;
  common.give(size, first, last);
}

thread_local constinit bool is_armed __attribute__((tls_model("initial-exec"))) = false;

// Returns the pieces of a thread that exits.
void give_all_back(void*) {
  is_armed = false; // another key's function may allocate and release after this one
  for (std::size_t size = 0; size < kSizes; ++size)
    if (kept.first[size])
      give_back(size, kept.count[size]);
}
constinit ThreadExit pieces_at_exit(give_all_back);

void arm() {
  if (!is_armed)
    is_armed = pieces_at_exit.arm(&kept);
}

bool refill(std::size_t size) {
  arm();
  kept.first[size] = common.take(size, kMostKept / 4, kept.count[size]);
  return kept.first[size] != nullptr;
}

void* allocate_piece(std::size_t bytes) {
  const std::size_t size = bytes ? (bytes - 1) / kAlignment : 0;
  if (!kept.first[size] && !refill(size))
    return large_blocks::allocate(bytes);
  --kept.count[size];
  return std::exchange(kept.first[size], kept.first[size]->next);
}

void release_piece(void* memory) {
  const std::size_t size = common.size_of(memory);
  if (kept.count[size] == kMostKept)
    give_back(size, kMostKept / 2);
  auto* const piece = static_cast<Piece*>(memory);
  piece->next = kept.first[size];
  kept.first[size] = piece;
  ++kept.count[size];
}

} // namespace

void* allocate(std::size_t size) {
  return !kMemoryIsChecked && size <= kLargestPiece ? allocate_piece(size) : large_blocks::allocate(size);
}
void release(void* memory) {
  if (common.owns(memory))
    release_piece(memory);
  else
    large_blocks::release(memory);
}

} // namespace omptool::small_blocks
