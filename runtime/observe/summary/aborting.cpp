// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "summary/aborting.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace omptool::observe {
namespace {

// Patience with the function: the thread that aborts may hold the heap's lock, or any other that the function needs.
constexpr unsigned kPatience = 2; // seconds

struct sigaction program_action;
std::atomic<void (*)()> to_call{nullptr};
static_assert(std::atomic<void (*)()>::is_always_lock_free);

void unblock(int signal) {
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

// Does what would have been done without this handler.
void pass_on(int = SIGALRM) {
  ::sigaction(SIGABRT, &program_action, nullptr);
  unblock(SIGABRT);
  ::raise(SIGABRT);
}

void on_abort(int) {
  if (void (*const function)() = to_call.exchange(nullptr)) {
    struct sigaction timeout{}, before{};
    timeout.sa_handler = pass_on;
    ::sigaction(SIGALRM, &timeout, &before);
    unblock(SIGALRM);
    ::alarm(kPatience);
    function();
    ::alarm(0);
    ::sigaction(SIGALRM, &before, nullptr);
  }
  pass_on();
}

} // namespace

void call_before_abort(void (*function)()) {
  struct sigaction action{};
  if (::sigaction(SIGABRT, nullptr, &program_action) != 0 || program_action.sa_handler == SIG_IGN)
    return;
  to_call = function;
  action.sa_handler = on_abort;
  ::sigaction(SIGABRT, &action, nullptr);
}

} // namespace omptool::observe
