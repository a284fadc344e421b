// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/check/full/slots.h"

#include <algorithm>
#include <bit>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace omptool::check {
namespace {

constexpr std::size_t kCacheLine = 64, kOfMalloc = 16;

// A variable's alignment divides its address and its size. An object that is aligned no more than it has to be ends
// where its last page does.
std::size_t alignment_of(const Wanted& wanted) {
  const std::size_t own = reinterpret_cast<std::uintptr_t>(wanted.host) | wanted.size;
  const std::size_t likely = wanted.host ? std::min(own & -own, kCacheLine) : kOfMalloc;
  return std::max(likely, wanted.alignment);
}

std::size_t round_up(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

bool protect(std::byte* begin, const std::byte* end, int access) {
  return begin >= end || ::mprotect(begin, static_cast<std::size_t>(end - begin), access) == 0;
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
  if (is_refused_)
    return false;
  page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t records = kSizes * kMostSlots * sizeof(GuardedObject);
  void* const memory = ::mmap(nullptr, kSizes * kSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* const table =
      ::mmap(nullptr, records, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  is_refused_ = memory == MAP_FAILED || table == MAP_FAILED; // a limit on addresses
  if (is_refused_)
    return false;
  records_ = static_cast<GuardedObject*>(table);
  base_ = static_cast<std::byte*>(memory);
  return true;
}

std::size_t Slots::slots_of(std::size_t size) const {
  return std::min(kMostSlots, kSpan / stride_of(size));
}

std::byte* Slots::end_of(const GuardedObject& object) const {
  const auto number = static_cast<std::size_t>(&object - records_);
  const std::size_t size = number / kMostSlots, slot = number % kMostSlots;
  return base_.load() + size * kSpan + (slot + 1) * stride_of(size);
}

GuardedObject* Slots::take_slot(std::size_t size) {
  if (free_[size]) {
    kept_ -= free_[size]->room;
    return std::exchange(free_[size], free_[size]->next_free);
  }
  return used_[size] < slots_of(size) ? &records_[size * kMostSlots + used_[size]++] : nullptr;
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

GuardedObject* Slots::take(const Wanted& wanted) {
  const std::lock_guard guard(mutex_);
  if (!base_ && !reserve())
    return nullptr;
  const std::size_t whole = round_up(wanted.size + wanted.padding, alignment_of(wanted));
  const std::size_t room = round_up(whole, page_);
  const auto size = static_cast<std::size_t>(std::bit_width(room / page_ - 1));
  if (live_ == kMostLive || wanted.size > kSpan || size >= kSizes)
    return nullptr;
  GuardedObject* const object = take_slot(size);
  if (!object)
    return nullptr;
  std::byte* const end = end_of(*object);
  if (!open(*object, end - room, room)) {
    kept_ += object->room;
    object->next_free = std::exchange(free_[size], object);
    return nullptr;
  }
  ++live_;
  object->device = wanted.device;
  object->host = wanted.host;
  object->born = wanted.construct;
  object->begin = end - whole + wanted.padding;
  object->size = wanted.size;
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
  const std::size_t size = static_cast<std::size_t>(&object - records_) / kMostSlots;
  object.next_free = std::exchange(free_[size], &object);
}

GuardedObject* Slots::at(const void* address) const {
  std::byte* const base = base_.load(std::memory_order_acquire);
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - base);
  if (!base || offset >= kSizes * kSpan)
    return nullptr;
  const std::size_t size = offset / kSpan, slot = offset % kSpan / stride_of(size);
  return &records_[size * kMostSlots + std::min(slot, slots_of(size) - 1)];
}

GuardedObject* Slots::nearest(const void* address) const {
  GuardedObject* const behind = at(address);
  if (!behind)
    return nullptr;
  const auto number = static_cast<std::size_t>(behind - records_);
  GuardedObject* const before = number % kMostSlots > 0 ? behind - 1 : nullptr;
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
