// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/check/full/faults.h"

#include "observe/check/full/guarded.h"
#include "observe/check/full/instruction.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <ucontext.h>

namespace omptool::check {
namespace {

// ---- what faulted ----

#if defined(__x86_64__)
constexpr bool kIsReadable = true;

Frame frame_of(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.gregs;
  return {reinterpret_cast<const void*>(registers[REG_RIP]),
          reinterpret_cast<const std::uintptr_t*>(registers[REG_RSP]), nullptr};
}
bool is_write(const ucontext_t& context) {
  return context.uc_mcontext.gregs[REG_ERR] & 2; // of the processor's error code
}
#else
constexpr bool kIsReadable = false;

Frame frame_of(const ucontext_t&) {
  return {};
}
bool is_write(const ucontext_t&) {
  return false;
}
#endif

bool allow(const siginfo_t& info, const ucontext_t& context) {
  if (info.si_code != SEGV_ACCERR || !is_guarded(info.si_addr))
    return false;
  const int error = errno;
  const Frame frame = frame_of(context);
  const bool writes = is_write(context);
  const bool reads = !writes || uses_what_it_writes(static_cast<const std::uint8_t*>(frame.code));
  const bool is_allowed = allow_access({static_cast<std::byte*>(info.si_addr), writes, reads, kernel_at(frame)});
  errno = error;
  return is_allowed;
}

// ---- whose else it may be ----

// Those that were set before this one, the first one first. A handler that was set behind this one may call it, as its
// predecessor: then the one before that is next.
struct Handlers {
  std::mutex mutex; // for who sets one
  std::array<struct sigaction, 8> before{};
  std::atomic<std::size_t> count{0};
};
constinit Handlers handlers;
constinit thread_local std::size_t called [[gnu::tls_model("initial-exec")]] = 0;

bool is_same(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_sigaction == other.sa_sigaction;
}

void do_default(const struct sigaction& action, const siginfo_t& info) {
  if (action.sa_handler == SIG_IGN && info.si_code <= 0) // sent by a process
    return;
  struct sigaction fatal{};
  fatal.sa_handler = SIG_DFL;
  ::sigaction(SIGSEGV, &fatal, nullptr); // the fault happens again
  if (info.si_code <= 0)
    ::raise(SIGSEGV);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const std::size_t count = handlers.count.load(std::memory_order_acquire);
  struct sigaction next{};
  if (called < count)
    next = handlers.before[count - 1 - called];
  if (!(next.sa_flags & SA_SIGINFO) && (next.sa_handler == SIG_DFL || next.sa_handler == SIG_IGN))
    return do_default(next, *info);
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, &next.sa_mask, &mask);
  if (next.sa_flags & SA_NODEFER) {
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  }
  const std::size_t outer = called++;
  if (next.sa_flags & SA_SIGINFO)
    next.sa_sigaction(signal, info, context);
  else
    next.sa_handler(signal);
  called = outer;
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (called > 0 || !allow(*info, *static_cast<const ucontext_t*>(context)))
    pass_on(signal, info, context);
}

} // namespace

bool faults_are_readable() {
  return kIsReadable;
}

void watch_faults() {
  struct sigaction now{}, ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(SIGSEGV, nullptr, &now) != 0 || is_same(now, ours))
    return;
  const std::lock_guard guard(handlers.mutex);
  const std::size_t count = handlers.count;
  if (count > 0 && is_same(handlers.before[count - 1], now)) {
    handlers.before[count - 1] = now;
  } else if (count < handlers.before.size()) {
    handlers.before[count] = now;
    handlers.count.store(count + 1, std::memory_order_release);
  } else {
    handlers.before[count - 1] = now;
  }
  ::sigaction(SIGSEGV, &ours, nullptr);
}

bool unblock_faults() {
  sigset_t own, before;
  ::sigemptyset(&own);
  ::sigaddset(&own, SIGSEGV);
  return ::pthread_sigmask(SIG_UNBLOCK, &own, &before) == 0 && ::sigismember(&before, SIGSEGV) == 1;
}

void block_faults() {
  sigset_t own;
  ::sigemptyset(&own);
  ::sigaddset(&own, SIGSEGV);
  ::pthread_sigmask(SIG_BLOCK, &own, nullptr);
}

} // namespace omptool::check
