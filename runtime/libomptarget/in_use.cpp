// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "in_use.h"

#include <algorithm>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptool {
namespace {

std::atomic<Announcement*> all_announcements{nullptr};

// Gives the thread's announcement to the next thread when this one ends.
struct Leaver {
  bool armed = false;
  ~Leaver() {
    if (!armed || !the_announcement)
      return;
    the_announcement->taken.store(false, std::memory_order_release);
    the_announcement = nullptr;
  }
};
thread_local Leaver leaver;

bool membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

std::vector<const void*> announced() {
  std::vector<const void*> all;
  for (Announcement* one = all_announcements.load(std::memory_order_acquire); one; one = one->next)
    // In this order: who finds a record by the index writes the record first and clears the index then.
    for (std::atomic<const void*>* place : {&one->index, &one->record})
      if (const void* address = place->load(std::memory_order_acquire))
        all.push_back(address);
  std::sort(all.begin(), all.end());
  return all;
}

} // namespace

Announcement& make_announcement() {
  leaver.armed = true;
  for (Announcement* one = all_announcements.load(std::memory_order_acquire); one; one = one->next)
    if (bool free = false; one->taken.compare_exchange_strong(free, true, std::memory_order_acquire))
      return *(the_announcement = one);
  auto* const made = new Announcement;
  made->next = all_announcements.load(std::memory_order_relaxed);
  while (!all_announcements.compare_exchange_weak(made->next, made, std::memory_order_acq_rel))
    ;
  return *(the_announcement = made);
}

void request_barriers() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    barriers_on_request.store(true, std::memory_order_relaxed);
}

void heavy_barrier() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (barriers_on_request.load(std::memory_order_relaxed))
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void Retired::add(const void* address, std::shared_ptr<const void> owner) {
  const std::lock_guard lock(mutex_);
  items_.push_back({address, std::move(owner)});
  count_.store(items_.size(), std::memory_order_relaxed);
}

void Retired::collect() {
  while (collect_once())
    ;
}

// True: what went may have been the last to hold other items.
bool Retired::collect_once() {
  std::vector<Item> unused;
  {
    const std::lock_guard lock(mutex_);
    if (items_.empty())
      return false;
    heavy_barrier();
    const std::vector<const void*> used = announced();
    // What an index holds may be found there and announced as long as the index is searched.
    const auto first = std::partition(items_.begin(), items_.end(), [&](const Item& item) {
      return item.owner.use_count() > 1 || std::binary_search(used.begin(), used.end(), item.address);
    });
    unused.assign(std::make_move_iterator(first), std::make_move_iterator(items_.end()));
    items_.erase(first, items_.end());
    count_.store(items_.size(), std::memory_order_relaxed);
  }
  return !unused.empty();
}

} // namespace omptool
