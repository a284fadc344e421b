// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/event_handles.h"

#include "process/per_process.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace omptool::event_handles {
namespace {

// No address begins with these bits, so that a pointer is never taken for a handle.
constexpr std::uintptr_t kMark = std::uintptr_t{0x7e17} << 48;
constexpr std::uintptr_t kMarkBits = ~std::uintptr_t{0} << 48;

std::atomic<std::uintptr_t> last{0}; // that was given out, by this process or one before it

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, EventPtr> events;
  const std::uintptr_t inherited = last; // that a process before this one gave out
};

std::uintptr_t number_of(tgt_event_t handle) {
  return reinterpret_cast<std::uintptr_t>(handle) - kMark;
}

// Of one that is not in the table.
std::string fault_of(const Table& table, tgt_event_t handle) {
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(handle);
  const bool is_ours = (bits & kMarkBits) == kMark && number_of(handle) > 0 && number_of(handle) <= last;
  if (!handle || (is_ours && number_of(handle) <= table.inherited))
    return {};
  char text[64];
  std::snprintf(text, sizeof text, "%p %s", handle, is_ours ? "has been released" : "is no event of this runtime");
  return text;
}

} // namespace

tgt_event_t add(EventPtr event) {
  Table& all = PerProcess<Table>::get();
  const std::lock_guard lock(all.mutex);
  const std::uintptr_t number = ++last;
  all.events.emplace(number, std::move(event));
  return reinterpret_cast<tgt_event_t>(kMark + number);
}

Found find(tgt_event_t handle, bool takes) {
  Found found; // what was taken goes without the lock
  Table& all = PerProcess<Table>::get();
  const std::lock_guard lock(all.mutex);
  const auto at = all.events.find(number_of(handle));
  if (at == all.events.end()) {
    found.fault = fault_of(all, handle);
    return found;
  }
  found.event = at->second;
  if (takes)
    all.events.erase(at);
  return found;
}

} // namespace omptool::event_handles
