// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plugin.h"

#include <mutex>
#include <pthread.h>

namespace omptool::plugin {
namespace {

constinit std::atomic<Plugin*> the_parents{nullptr};
// Counts the threads that make it, or have made it: a child of fork() is lost by one.
constinit std::atomic<unsigned> asked{0};
constinit std::atomic<bool> is_child{false};

void forget_after_fork() {
  if (asked == 0)
    return;
  is_child = true;
  if (Plugin* const left = the_plugin.exchange(nullptr))
    the_parents = left;
}

} // namespace

constinit std::atomic<Plugin*> the_plugin{nullptr};

// Makes the plugin without a lock: a thread may come here while it loads a library, drivers load libraries, too, and a
// fork must not copy a locked lock. The first plugin stays.
[[gnu::noinline, gnu::cold]] Plugin& make_the_plugin() {
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, forget_after_fork); });
  ++asked;
  std::unique_ptr<Plugin> made = make_plugin(is_child);
  made->parents = the_parents;
  Plugin* known = nullptr;
  return the_plugin.compare_exchange_strong(known, made.get()) ? *made.release() : *known;
}

void Plugin::fail_for_device(std::int32_t number) const {
  fail("there is no device " + std::to_string(number) + (reason.empty() ? "" : ": " + reason));
}

} // namespace omptool::plugin
