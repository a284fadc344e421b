// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/special_memory.h"

#include "process/message.h"

namespace omptool {

using Kind = observe::Operation::Kind;

// ---- kinds ----

void* SpecialMemory::allocate(std::int64_t size, std::int32_t kind) {
  if (!has_kinds() || size <= 0)
    return nullptr;
  void* const made = memory_.reported(Kind::kAllocate, nullptr, nullptr, size,
                                      [&] { return memory_.call().memory_alloc(memory_.rtl_id(), size, kind); });
  if (!made) {
    say("device %d (%s) gives the program no memory that both use%s", memory_.number(), memory_.rtl().name().c_str(),
        memory_.last_error().c_str());
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  kinds_[made] = kind;
  return made;
}

std::optional<bool> SpecialMemory::free(void* memory) {
  Lock lock(mutex_);
  const auto known = kinds_.extract(memory);
  lock.unlock();
  if (known.empty())
    return std::nullopt;
  return memory_.reported(Kind::kFree, nullptr, memory, 0,
                          [&] { return memory_.call().memory_free(memory_.rtl_id(), memory, known.mapped()) == 0; });
}

// ---- page-locked ----

// Returns the first range that ends behind `begin`. Waits until no thread is busy with a range that overlaps.
SpecialMemory::Ranges::iterator SpecialMemory::find_idle(std::uintptr_t begin, std::uintptr_t end, Lock& lock) {
  for (;;) {
    auto at = locked_.upper_bound(begin);
    if (at != locked_.begin() && std::prev(at)->second.end > begin)
      --at;
    auto busy = at;
    while (busy != locked_.end() && busy->first < end && !busy->second.is_busy)
      ++busy;
    if (busy == locked_.end() || busy->first >= end)
      return at;
    resolved_.wait(lock);
  }
}

void* SpecialMemory::lock(void* host, std::size_t size) {
  const auto host_lock = memory_.call().host_lock;
  if (!host_lock)
    return host;
  const auto begin = reinterpret_cast<std::uintptr_t>(host);
  const std::uintptr_t end = begin + size;
  Lock lock(mutex_);
  const auto known = find_idle(begin, end, lock);
  if (known != locked_.end() && known->first <= begin && known->second.end >= end) {
    ++known->second.times;
    return known->second.device + (begin - known->first);
  }
  if (end <= begin || (known != locked_.end() && known->first < end))
    return nullptr;
  const auto made = locked_.insert({begin, Locked{end, nullptr, 1, true}}).first;
  lock.unlock();
  auto* const device = static_cast<std::byte*>(host_lock(memory_.rtl_id(), host, static_cast<std::int64_t>(size)));
  lock.lock();
  made->second.device = device;
  made->second.is_busy = false;
  if (!device)
    locked_.erase(made);
  resolved_.notify_all();
  return device;
}

bool SpecialMemory::unlock(void* host) {
  const auto begin = reinterpret_cast<std::uintptr_t>(host);
  Lock lock(mutex_);
  const auto known = find_idle(begin, begin + 1, lock);
  if (known == locked_.end() || known->first > begin)
    return false;
  if (--known->second.times > 0)
    return true;
  known->second.is_busy = true;
  lock.unlock();
  const bool done = memory_.call().host_unlock(memory_.rtl_id(), reinterpret_cast<void*>(known->first)) == 0;
  lock.lock();
  locked_.erase(known);
  resolved_.notify_all();
  return done;
}

} // namespace omptool
