// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "faults.h"

#include "common/fault_signals.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace omptool::opencl {
namespace {

// Places of running kernels, without a lock, because a signal handler reads them. A kernel beyond them is not named.
constinit std::array<std::atomic<const char*>, 64> places{};

// Names, each once, with ", " between; false: there is none.
bool list(char* to, std::size_t size, int& count) {
  std::array<const char*, places.size()> names{};
  count = 0;
  for (const std::atomic<const char*>& place : places) {
    const char* const name = place.load();
    const auto end = names.begin() + count;
    if (!name || std::any_of(names.begin(), end, [&](const char* known) { return std::strcmp(known, name) == 0; }))
      continue;
    const std::size_t used = std::strlen(to);
    std::snprintf(to + used, size - used, "%s%.300s", count ? ", " : "", name);
    *end = name;
    ++count;
  }
  return count > 0;
}

void tell(const Fault& fault) {
  Dl_info found{};
  char names[1024] = "", line[1200];
  int count = 0;
  if ((fault.code && ::dladdr(fault.code, &found) != 0) || !list(names, sizeof names, count))
    return;
  const int length = std::snprintf(line, sizeof line, "omptarget: %s %s ends by %s at %p, on a CPU of OpenCL\n",
                                   count == 1 ? "kernel" : "one of the kernels", names, fault.signal, fault.address);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

} // namespace

Running::Running(const Found& found, const std::string& name) {
  if (!found.is_cpu)
    return;
  for (std::atomic<const char*>& place : places) {
    const char* nobody = nullptr;
    if (!place.load(std::memory_order_relaxed) && place.compare_exchange_strong(nobody, name.c_str())) {
      place_ = &place;
      return;
    }
  }
}

Running::~Running() {
  if (place_)
    place_->store(nullptr, std::memory_order_relaxed);
}

void name_running_kernels(const Found& found) {
  if (found.is_cpu)
    watch_faults(tell, reinterpret_cast<const void*>(found.extensions.clHostMemAllocINTEL));
}

} // namespace omptool::opencl
