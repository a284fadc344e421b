// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_tables.h"

#include "common/fault_signals.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace omptool::worker {
namespace {

struct Known {
  std::uintptr_t image; // the address of its beginning
  HostTable table;
  std::pair<std::uintptr_t, std::uintptr_t> key() const { return {image, table.host}; }
  bool has(std::uintptr_t address) const { return address - table.host < table.size; }
};
using All = std::vector<Known>; // in the order of the keys

std::mutex mutex; // of who changes them; a virtual call and a signal handler take no lock
std::atomic<const All*> current{nullptr};

std::uintptr_t image_of(const void* address) {
  Dl_info found{};
  return ::dladdr(address, &found) ? reinterpret_cast<std::uintptr_t>(found.dli_fbase) : 0;
}

// Changes the tables by a copy. Images come and go rarely, and readers may still use the earlier tables, so those are
// never freed.
void change(const std::function<void(All&)>& how) {
  static auto& kept = *new std::vector<std::unique_ptr<const All>>;
  const std::lock_guard lock(mutex);
  auto all = std::make_unique<All>(kept.empty() ? All() : *kept.back());
  how(*all);
  current.store(all.get());
  kept.push_back(std::move(all));
}

void tell(const Fault& fault) {
  const All* const all = current.load();
  const auto address = reinterpret_cast<std::uintptr_t>(fault.address);
  const auto found = all ? std::find_if(all->begin(), all->end(), [&](const Known& one) { return one.has(address); })
                         : All::const_iterator();
  if (!all || found == all->end())
    return;
  constexpr const char* kWhy =
      "omptool worker: a kernel uses the host's address of %.300s; on a CPU only virtual calls "
      "that clang 23 or later has compiled find the worker's\n";
  char line[512];
  const int length = std::snprintf(line, sizeof line, kWhy, found->table.name.c_str());
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

} // namespace

bool is_in_image(const void* address) {
  return image_of(address) != 0;
}

void add_tables(const void* entry, const std::vector<HostTable>& tables) {
  const std::uintptr_t image = image_of(entry);
  change([&](All& all) {
    for (const HostTable& table : tables)
      all.push_back({image, table});
    std::sort(all.begin(), all.end(), [](const Known& one, const Known& other) { return one.key() < other.key(); });
  });
  watch_faults(tell);
}

void remove_tables(const void* entry) {
  const std::uintptr_t image = image_of(entry);
  change([&](All& all) { std::erase_if(all, [&](const Known& one) { return one.image == image; }); });
}

std::uintptr_t own_address(std::uintptr_t address, const void* caller) {
  const All* const all = current.load(std::memory_order_acquire);
  if (!all)
    return address;
  const auto first_behind = [&](std::uintptr_t image, std::uintptr_t host) {
    return std::upper_bound(all->begin(), all->end(), std::pair(image, host),
                            [](const auto& key, const Known& one) { return key < one.key(); });
  };
  const auto behind = first_behind(reinterpret_cast<std::uintptr_t>(caller), UINTPTR_MAX);
  if (behind == all->begin())
    return address;
  const std::uintptr_t image = std::prev(behind)->image;
  const auto next = first_behind(image, address);
  if (next == all->begin() || std::prev(next)->image != image || !std::prev(next)->has(address))
    return address;
  const HostTable& table = std::prev(next)->table;
  return table.own + (address - table.host);
}

} // namespace omptool::worker

// Exports functions for code of clang 23 and later for a CPU, which calls the second before each virtual call. Images
// linked by `omptool link` have their own, which calls the first (packager/linking/cpu/indirect_calls.py).
extern "C" [[gnu::visibility("default"), gnu::noinline]] void* omptool_own_address(void* address) {
  return reinterpret_cast<void*>(
      omptool::worker::own_address(reinterpret_cast<std::uintptr_t>(address), __builtin_return_address(0)));
}
extern "C" [[gnu::visibility("default"), gnu::alias("omptool_own_address")]] void*
__llvm_omp_indirect_call_lookup(void* address);
