// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "faults.h"

#include "current_state.h"

#include <csignal>
#include <cstdio>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace omptool::host {
namespace {

struct Named {
  int signal;
  const char* name;
};
constexpr Named kFaults[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}};

// In a signal handler: neither the heap nor a stream.
void tell(const Current& where, const char* signal, const void* address) {
  constexpr const char* kAfter = "ends by %s at %p, in thread %d of team %d\n";
  char after[128], line[512];
  std::snprintf(after, sizeof after, kAfter, signal, address, where.state.thread_num, where.state.team_num);
  Dl_info found{};
  const bool has_name = ::dladdr(where.kernel, &found) != 0 && found.dli_sname;
  const int length = has_name ? std::snprintf(line, sizeof line, "omptarget: kernel %.300s %s", found.dli_sname, after)
                              : std::snprintf(line, sizeof line, "omptarget: the kernel at %p %s", where.kernel, after);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

void on_fault(int signal, siginfo_t* info, void*) {
  for (const Named& fault : kFaults)
    if (fault.signal == signal && current.kernel)
      tell(current, fault.name, info->si_addr);
  std::signal(signal, SIG_DFL);
  if (info->si_code <= 0) // sent by a process; else what went wrong goes wrong again
    ::raise(signal);
}

void handle(int signal) {
  struct sigaction known{};
  if (::sigaction(signal, nullptr, &known) != 0 || (known.sa_flags & SA_SIGINFO) || known.sa_handler != SIG_DFL)
    return;
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(signal, &ours, nullptr);
}

} // namespace

void name_faulting_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Named& fault : kFaults)
      handle(fault.signal);
  });
}

} // namespace omptool::host
