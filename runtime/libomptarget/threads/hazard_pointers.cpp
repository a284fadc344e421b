// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "threads/hazard_pointers.h"

#include "thread_exit.h"
#include "threads/thread_records.h"

#include <algorithm>

namespace omptool {

static constinit ThreadRecords<HazardPointer> all_hazard_pointers;

std::vector<const void*> published_items() {
  std::vector<const void*> all;
  for (HazardPointer* one = all_hazard_pointers.first(); one; one = one->next)
    // Clears the index before the record: a thread that finds a record by the index writes the record first and clears
    // the index then.
    for (std::atomic<const void*>* place : {&one->index, &one->record})
      if (const void* address = place->load(std::memory_order_acquire))
        all.push_back(address);
  std::sort(all.begin(), all.end());
  return all;
}

// Releases the hazard pointer for the next thread. A kernel that calls pthread_exit() is still in use.
static void release_hazard_pointer(void*) {
  if (!hazard_pointer_here || hazard_pointer_here->record.load(std::memory_order_relaxed))
    return;
  ThreadRecords<HazardPointer>::give_back(*hazard_pointer_here);
  hazard_pointer_here = nullptr;
}
static constinit ThreadExit hazard_pointer_at_exit(release_hazard_pointer);

HazardPointer& make_hazard_pointer() {
  hazard_pointer_here = &all_hazard_pointers.take();
  hazard_pointer_at_exit.arm(hazard_pointer_here);
  return *hazard_pointer_here;
}

void Retired::add(std::shared_ptr<const void> item) {
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
  count_.store(items_.size(), std::memory_order_relaxed);
}

void Retired::collect() {
  std::vector<std::shared_ptr<const void>> unused;
  do {
    unused.clear(); // without the lock; what goes may be the last to hold other items
    const std::lock_guard lock(mutex_);
    if (items_.empty())
      return;
    heavy_barrier(); // the other half of those of KernelUse and ask_libomp()
    const std::vector<const void*> used = published_items();
    // First item without users. Items of an index may be found and published while the index is searched.
    const auto first = std::partition(items_.begin(), items_.end(), [&](const std::shared_ptr<const void>& item) {
      return item.use_count() > 1 || std::binary_search(used.begin(), used.end(), item.get());
    });
    unused.assign(std::make_move_iterator(first), std::make_move_iterator(items_.end()));
    items_.erase(first, items_.end());
    count_.store(items_.size(), std::memory_order_relaxed);
  } while (!unused.empty());
}

} // namespace omptool
