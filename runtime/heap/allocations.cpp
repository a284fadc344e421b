// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptool_heap.so, which `omptool run --check` preloads: remembers how much memory the program has asked of malloc,
// for the checker to compare with what it maps. It stands before the C library's functions and calls them.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

namespace {

struct Block {
  std::atomic<std::uintptr_t> address; // 0: nobody has taken the place. It stays when the block is freed
  std::atomic<std::size_t> size;       // 0: the block is freed
};

// Number of blocks in the table, which is indexed by address. Allocators reuse addresses, so the table rarely fills up.
// A block without a place is not recorded.
constexpr std::size_t kBlocks = 1 << 22; // places; those that nobody uses take no memory
constexpr std::size_t kMostSteps = 64;

Block* blocks() {
  static constinit std::atomic<Block*> all{nullptr};
  Block* known = all.load(std::memory_order_acquire);
  if (known)
    return known;
  void* const place = ::mmap(nullptr, kBlocks * sizeof(Block), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED)
    return nullptr;
  if (all.compare_exchange_strong(known, static_cast<Block*>(place)))
    return static_cast<Block*>(place);
  ::munmap(place, kBlocks * sizeof(Block));
  return known;
}

// Finds the record of a block, or makes one if `is_new`. Returns null if there is none, or no free place.
Block* find(const void* block, bool is_new) {
  Block* const all = block ? blocks() : nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  for (std::size_t i = 0, at = (address >> 4) * 0x9e3779b97f4a7c15; all && i < kMostSteps; ++i) {
    Block& one = all[(at >> 42) % kBlocks];
    std::uintptr_t there = one.address.load(std::memory_order_acquire);
    if (there == 0 && !is_new)
      return nullptr;
    if (there == address || (there == 0 && one.address.compare_exchange_strong(there, address)) || there == address)
      return &one;
    at += std::size_t{1} << 42;
  }
  return nullptr;
}

void* remember(void* block, std::size_t size) {
  if (Block* const one = find(block, true))
    one->size.store(size, std::memory_order_release);
  return block;
}
void forget(const void* block) {
  if (Block* const one = find(block, false))
    one->size.store(0, std::memory_order_release);
}

// dlsym may itself ask for memory before it has found calloc: it gets it from here, and it is never freed.
alignas(16) constinit std::byte first_memory[4096];
constinit std::atomic<std::size_t> first_used{0};
[[gnu::tls_model("initial-exec")]] thread_local constinit bool is_looking = false;

void* first_block(std::size_t size) {
  const std::size_t at = first_used.fetch_add((size + 15) & ~std::size_t{15});
  return at + size <= sizeof first_memory ? first_memory + at : nullptr;
}
bool is_first_block(const void* block) {
  return block >= first_memory && block < first_memory + sizeof first_memory;
}

// The next function of that name; null while this thread looks for one.
void* next(std::atomic<void*>& known, const char* name) {
  void* there = known.load(std::memory_order_acquire);
  if (there || is_looking)
    return there;
  is_looking = true;
  there = ::dlsym(RTLD_NEXT, name);
  is_looking = false;
  known.store(there, std::memory_order_release);
  return there;
}
// The C library's function of that name.
#define OMPTOOL_NEXT(name)                                                                                             \
  [] {                                                                                                                 \
    static constinit std::atomic<void*> known{nullptr};                                                                \
    return reinterpret_cast<decltype(&name)>(next(known, #name));                                                      \
  }()

} // namespace

#define OMPTOOL_SEEN extern "C" __attribute__((visibility("default")))

OMPTOOL_SEEN std::size_t omptool_allocated_at(const void* block) {
  const Block* const one = find(block, false);
  return one ? one->size.load(std::memory_order_acquire) : 0;
}

OMPTOOL_SEEN void* malloc(std::size_t size) noexcept {
  const auto there = OMPTOOL_NEXT(malloc);
  return there ? remember(there(size), size) : first_block(size);
}
OMPTOOL_SEEN void* calloc(std::size_t count, std::size_t size) noexcept {
  const auto there = OMPTOOL_NEXT(calloc);
  return there ? remember(there(count, size), count * size) : first_block(count * size);
}
OMPTOOL_SEEN void* realloc(void* block, std::size_t size) noexcept {
  const auto there = OMPTOOL_NEXT(realloc);
  if (!there || is_first_block(block)) {
    void* const moved = malloc(size);
    const auto* const end = first_memory + sizeof first_memory;
    if (moved && block)
      std::memcpy(moved, block, std::min<std::size_t>(size, end - static_cast<std::byte*>(block)));
    return moved;
  }
  forget(block);
  return remember(there(block, size), size);
}
OMPTOOL_SEEN void free(void* block) noexcept {
  if (is_first_block(block))
    return;
  forget(block);
  if (const auto there = OMPTOOL_NEXT(free))
    there(block);
}
OMPTOOL_SEEN int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  const int result = OMPTOOL_NEXT(posix_memalign)(block, alignment, size);
  if (result == 0)
    remember(*block, size);
  return result;
}
OMPTOOL_SEEN void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return remember(OMPTOOL_NEXT(aligned_alloc)(alignment, size), size);
}
OMPTOOL_SEEN void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return remember(OMPTOOL_NEXT(memalign)(alignment, size), size);
}
