// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fault_signals.h"

#include "machine.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <ucontext.h>

namespace omptool {
namespace {

struct Watched {
  machine::FaultSignal signal{};
  struct sigaction before{};
};
Watched watched[machine::kFaultSignals.size()];
void (*tell_of_fault)(const Fault& fault) = nullptr;

// The fault happens again when this returns, as if the handler had never been.
void on_fault(int signal, siginfo_t* info, void* context) {
  for (const Watched& one : watched) {
    if (one.signal.number != signal)
      continue;
    tell_of_fault({one.signal.name, info->si_addr, machine::instruction_of(*static_cast<ucontext_t*>(context))});
    ::sigaction(signal, &one.before, nullptr);
  }
  if (info->si_code <= 0) // sent by a process
    ::raise(signal);
}

bool may_come_before(const struct sigaction& action, const void* driver) {
  if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL)
    return true;
  Dl_info found{}, of_driver{};
  if (!::dladdr(reinterpret_cast<const void*>(action.sa_sigaction), &found) || !found.dli_fname)
    return false;
  return std::strstr(found.dli_fname, "/libomptarget.rtl.") ||
         (driver && ::dladdr(driver, &of_driver) && of_driver.dli_fbase == found.dli_fbase);
}

void watch(Watched& one, const void* driver) {
  if (::sigaction(one.signal.number, nullptr, &one.before) != 0 || !may_come_before(one.before, driver))
    return;
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(one.signal.number, &ours, nullptr);
}

} // namespace

void watch_faults(void (*tell)(const Fault& fault), const void* driver) {
  static std::atomic<bool> is_watching{false};
  if (is_watching.exchange(true)) // nobody waits: dladdr() takes the dynamic linker's lock, which this thread may have
    return;
  tell_of_fault = tell;
  for (std::size_t i = 0; i < machine::kFaultSignals.size(); ++i) {
    watched[i].signal = machine::kFaultSignals[i];
    watch(watched[i], driver);
  }
}

} // namespace omptool
