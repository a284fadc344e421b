// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/slots.h"

#include "file.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace omptool::check {
namespace {

constexpr std::size_t kCacheLine = 64, kOfMalloc = 16;

// A variable's alignment divides its address and its size. An object that is aligned no more than it has to be ends
// where its last page does.
std::size_t alignment_of(const observe::MemoryRequest& request) {
  const std::size_t own = reinterpret_cast<std::uintptr_t>(request.host) | request.size;
  const std::size_t likely = request.host ? std::min(own & -own, kCacheLine) : kOfMalloc;
  return std::max(likely, request.alignment);
}

std::size_t round_up(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

bool protect(std::byte* begin, const std::byte* end, int access) {
  return begin >= end || ::mprotect(begin, static_cast<std::size_t>(end - begin), access) == 0;
}

// Returns how many bytes of addresses the process may still reserve, by its limit (ulimit -v).
std::size_t addresses_left(std::size_t page) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return SIZE_MAX;
  std::array<char, 32> text{};
  const File file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)); // its first number is that of pages in use
  if (!file || ::read(file.number(), text.data(), text.size() - 1) <= 0)
    return 0;
  const std::size_t used = std::strtoull(text.data(), nullptr, 10) * page;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

} // namespace

bool Parts::any() const {
  return std::any_of(words_.begin(), words_.end(), [](const auto& word) { return word.load() != 0; });
}
void Parts::clear() {
  for (auto& word : words_)
    word = 0;
}

std::array<std::span<std::byte>, 2> GuardedObject::edges() const {
  const std::size_t before = std::min(static_cast<std::size_t>(begin - pages), kCacheLine);
  std::byte* const end = begin + size;
  return {std::span(begin - before, before), std::span(end, static_cast<std::size_t>(pages + room - end))};
}

bool Slots::reserve() {
  page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t allowed = addresses_left(page_) / 2; // the program needs some, too
  for (std::size_t span = kMostSpan; !is_refused_ && span >= kLeastSpan; span /= 2)
    if (span <= allowed / kSizes && reserve(span))
      return true;
  is_refused_ = true;
  return false;
}

bool Slots::reserve(std::size_t span) {
  const std::size_t number = std::min(kMostSlots, span / kGuard);
  const std::size_t size = kSizes * span, records = kSizes * number * sizeof(GuardedObject);
  void* const memory = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  void* const table =
      ::mmap(nullptr, records, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) {
    ::munmap(memory, size);
    return false;
  }
  span_ = span;
  slots_ = number;
  records_ = static_cast<GuardedObject*>(table);
  base_ = static_cast<std::byte*>(memory);
  return true;
}

std::size_t Slots::slots_of(std::size_t size) const {
  return std::min(slots_, span_ / stride_of(size));
}

std::byte* Slots::end_of(const GuardedObject& object) const {
  const auto number = static_cast<std::size_t>(&object - records_);
  const std::size_t size = number / slots_, slot = number % slots_;
  return base_.load() + size * span_ + (slot + 1) * stride_of(size);
}

GuardedObject* Slots::take_slot(std::size_t size) {
  if (free_[size]) {
    kept_ -= free_[size]->room;
    return std::exchange(free_[size], free_[size]->next_free);
  }
  return used_[size] < slots_of(size) ? &records_[size * slots_ + used_[size]++] : nullptr;
}

// Makes these the pages of a slot that may be touched.
bool Slots::open(GuardedObject& object, std::byte* pages, std::size_t room) const {
  std::byte* const end = end_of(object);
  if (object.room == room) // as it was: those that were closed may have to be so again
    return true;
  std::byte* const before = end - object.room;
  if (!protect(object.closed.any() ? pages : std::min(pages, before), object.closed.any() ? end : before,
               PROT_READ | PROT_WRITE))
    return false;
  protect(before, pages, PROT_NONE);
  object.closed.clear();
  object.pages = pages;
  object.room = room;
  object.part = std::max(kGuard, std::bit_ceil((room + Parts::kMost - 1) / Parts::kMost));
  return true;
}

GuardedObject* Slots::take(const observe::MemoryRequest& request, Refusal& why) {
  const std::lock_guard guard(mutex_);
  why = Refusal::kAddresses;
  if (!base_ && !reserve())
    return nullptr;
  const std::size_t whole = round_up(request.size + request.padding, alignment_of(request));
  const std::size_t room = round_up(whole, page_);
  const auto size = static_cast<std::size_t>(std::bit_width(room / page_ - 1));
  why = Refusal::kSize;
  if (request.size > span_ || size >= kSizes || slots_of(size) == 0)
    return nullptr;
  why = Refusal::kNumber;
  GuardedObject* const object = live_ == kMostLive ? nullptr : take_slot(size);
  if (!object)
    return nullptr;
  std::byte* const end = end_of(*object);
  if (!open(*object, end - room, room)) {
    kept_ += object->room;
    object->next_free = std::exchange(free_[size], object);
    return nullptr;
  }
  ++live_;
  object->device = request.device;
  object->host = request.host;
  object->born = request.construct;
  object->begin = end - whole + request.padding;
  object->size = request.size;
  object->name[0] = '\0';
  object->written.clear();
  object->kernel_wrote = false;
  object->has_edges = !object->closed.any();
  for (const std::span<std::byte> edge : object->edges())
    if (object->has_edges)
      std::fill(edge.begin(), edge.end(), kEdge);
  object->is_live.store(true, std::memory_order_release);
  return object;
}

void Slots::give_back(GuardedObject& object) {
  const std::lock_guard guard(mutex_);
  object.is_live = false;
  --live_;
  if (kept_ + object.room > kMostKept)
    ::madvise(object.pages, object.room, MADV_DONTNEED);
  kept_ += object.room;
  const std::size_t size = static_cast<std::size_t>(&object - records_) / slots_;
  object.next_free = std::exchange(free_[size], &object);
}

GuardedObject* Slots::at(const void* address) const {
  std::byte* const base = base_.load(std::memory_order_acquire);
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - base);
  if (!base || offset >= kSizes * span_ || slots_of(offset / span_) == 0)
    return nullptr;
  const std::size_t size = offset / span_, slot = offset % span_ / stride_of(size);
  return &records_[size * slots_ + std::min(slot, slots_of(size) - 1)];
}

GuardedObject* Slots::nearest(const void* address) const {
  GuardedObject* const behind = at(address);
  if (!behind)
    return nullptr;
  const auto number = static_cast<std::size_t>(behind - records_);
  GuardedObject* const before = number % slots_ > 0 ? behind - 1 : nullptr;
  const auto distance = [=](const GuardedObject* one) {
    const auto* const there = static_cast<const std::byte*>(address);
    if (!one || !one->is_live.load(std::memory_order_acquire))
      return PTRDIFF_MAX;
    return there < one->begin ? one->begin - there : there - (one->begin + one->size);
  };
  GuardedObject* const one = distance(before) < distance(behind) ? before : behind;
  return distance(one) == PTRDIFF_MAX ? nullptr : one;
}

} // namespace omptool::check
