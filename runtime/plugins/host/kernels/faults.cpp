// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "faults.h"

#include "common/fault_signals.h"
#include "current_state.h"
#include "region_name.h"

#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <string_view>
#include <unistd.h>

namespace omptool::host {
namespace {

void tell(const Fault& fault) {
  if (!current.kernel)
    return;
  constexpr const char* kAfter = "ends by %s at %p, in thread %d of team %d\n";
  char after[128], line[512];
  std::snprintf(after, sizeof after, kAfter, fault.signal, fault.address, current.state.thread_num,
                current.state.team_num);
  Dl_info found{};
  const bool has_name = ::dladdr(current.kernel, &found) != 0 && found.dli_sname;
  std::array<char, 300> memory{};
  const std::string_view name = region_name(has_name ? found.dli_sname : "", memory);
  const int length = has_name
                         ? std::snprintf(line, sizeof line, "omptarget: kernel %.*s %s", static_cast<int>(name.size()),
                                         name.data(), after)
                         : std::snprintf(line, sizeof line, "omptarget: the kernel at %p %s", current.kernel, after);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

} // namespace

void name_faulting_kernels() {
  watch_faults(tell);
}

} // namespace omptool::host
