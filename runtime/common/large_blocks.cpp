// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "large_blocks.h"

#include "checked_memory.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace omptool::large_blocks {
namespace {

constexpr std::size_t kPage = std::size_t{1} << 12;
constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kVeryLarge = 2 * kHugePage;
constexpr std::size_t kMostKept = std::size_t{1} << 26; // bytes: as many as the C library keeps at most
// Step between the starts of neighbouring objects, in cache lines, and the number of places. Any 64 consecutive objects
// start in different lines of a page, any 1024 in different lines of 64 KiB.
constexpr std::size_t kStep = 17, kPlaces = 1024;

// Header in the cache line in front of an object.
struct alignas(kAlignment) Header {
  void* block;
  std::size_t mapped; // bytes; 0: the block is the C library's
  std::size_t room;   // bytes, for the object
};

void unmap(const Header* header) {
  ::munmap(header->block, header->mapped);
}

// Kept blocks: very large ones that were released, the oldest first. A thread that finds the lock held, possibly by a
// thread of the parent process, continues without them.
class Kept {
public:
  // Takes the latest block with enough room, and at most twice as much, or returns null.
  Header* take(std::size_t room) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    for (std::size_t i = lock ? count_ : 0; i-- > 0;)
      if (headers_[i]->room >= room && headers_[i]->room / 2 <= room)
        return remove(i);
    return nullptr;
  }
  // Keeps the block, or returns false if the caller has to unmap it.
  bool keep(Header* header) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || header->room > kMostKept)
      return false;
    while (count_ == headers_.size() || bytes_ + header->room > kMostKept)
      unmap(remove(0));
    headers_[count_++] = header;
    bytes_ += header->room;
    return true;
  }

private:
  Header* remove(std::size_t at) {
    Header* const header = headers_[at];
    for (--count_; at < count_; ++at)
      headers_[at] = headers_[at + 1];
    bytes_ -= header->room;
    return header;
  }

  std::mutex mutex_;
  std::array<Header*, 32> headers_{};
  std::size_t count_ = 0, bytes_ = 0;
};

constinit Kept kept;

Header* map(std::size_t size) {
  static constinit std::atomic<std::size_t> begun{0};
  const std::size_t room = (size + kPage - 1) & ~(kPage - 1), used = room + (kPlaces + 1) * sizeof(Header);
  const std::size_t mapped = used + kHugePage; // what is before the first huge page is never touched
  void* const block = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return nullptr;
  const std::uintptr_t start = (reinterpret_cast<std::uintptr_t>(block) + kHugePage - 1) & ~(kHugePage - 1);
  ::madvise(reinterpret_cast<void*>(start), used, MADV_HUGEPAGE); // a system that has none is as fast as it is
  const std::size_t place = begun.fetch_add(1, std::memory_order_relaxed) * kStep % kPlaces;
  return new (reinterpret_cast<Header*>(start) + place) Header{block, mapped, room};
}

Header* take_from_library(std::size_t size) {
  void* block = nullptr;
  if (::posix_memalign(&block, kAlignment, size + sizeof(Header)) != 0)
    return nullptr;
  return new (block) Header{block, 0, size};
}

Header* header_for(std::size_t size) {
  if (size > SIZE_MAX / 2)
    return nullptr;
  if (kMemoryIsChecked || size < kVeryLarge)
    return take_from_library(size);
  Header* const header = kept.take(size);
  return header ? header : map(size);
}

} // namespace

void* allocate(std::size_t size) {
  Header* const header = header_for(size);
  return header ? header + 1 : nullptr;
}

void release(void* memory) {
  if (!memory)
    return;
  Header* const header = static_cast<Header*>(memory) - 1;
  if (header->mapped == 0)
    std::free(header->block);
  else if (!kept.keep(header))
    unmap(header);
}

} // namespace omptool::large_blocks
