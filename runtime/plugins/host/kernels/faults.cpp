// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "faults.h"

#include "common/fault_signals.h"
#include "current_state.h"
#include "region_name.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <unistd.h>

namespace omptool::host {
namespace {

// Explanation for an image's faults. Records are never freed, because a signal handler reads them. A later record
// applies to a new image at the address of an unloaded one.
struct Explanation {
  const void* base;
  std::string text;
  const Explanation* next;
};
constinit std::atomic<const Explanation*> explanations{nullptr};

const char* explanation_of(const void* base) {
  for (const Explanation* one = explanations.load(std::memory_order_acquire); one; one = one->next)
    if (one->base == base)
      return one->text.c_str();
  return "";
}

void tell(const Fault& fault) {
  if (!current.kernel)
    return;
  constexpr const char* kAfter = "ends by %s at %p, in thread %d of team %d%s%.200s\n";
  Dl_info found{};
  const bool is_found = ::dladdr(current.kernel, &found) != 0, has_name = is_found && found.dli_sname;
  const bool is_illegal = is_found && std::strcmp(fault.signal, "SIGILL") == 0;
  const char* const why = is_illegal ? explanation_of(found.dli_fbase) : "";
  std::array<char, 300> memory{};
  const std::string_view name = region_name(has_name ? found.dli_sname : "", memory);
  char after[384], line[768];
  std::snprintf(after, sizeof after, kAfter, fault.signal, fault.address, current.state.thread_num,
                current.state.team_num, *why ? ": " : "", why);
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

void explain_illegal_instructions(const void* base, const std::string& text) {
  if (text == explanation_of(base))
    return;
  auto* const added = new Explanation{base, text, explanations.load(std::memory_order_acquire)};
  while (!explanations.compare_exchange_weak(added->next, added, std::memory_order_acq_rel))
    ;
}

} // namespace omptool::host
