// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/faults.h"

#include "check/full/guarded.h"
#include "check/full/host_watch.h"
#include "check/full/instruction.h"

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

bool take_fault(const siginfo_t& info, const ucontext_t& context) {
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

bool take_trap_of(const siginfo_t& info, const ucontext_t& context) {
  const int error = errno;
  const bool is_taken = take_trap(info, frame_of(context));
  errno = error;
  return is_taken;
}

// ---- whose else it may be ----

// A signal, and those of its handlers that were set before this one, the first one first. A handler that was set behind
// this one may call it, as its predecessor: then the one before that is next.
struct Signal {
  int number;
  bool (*take)(const siginfo_t& info, const ucontext_t& context);
  std::mutex mutex = {}; // for who sets a handler
  std::array<struct sigaction, 8> before = {};
  std::atomic<std::size_t> count = 0;
};
constinit Signal faults{SIGSEGV, take_fault}, traps{SIGTRAP, take_trap_of};
constinit thread_local std::size_t called [[gnu::tls_model("initial-exec")]] = 0;

bool is_same(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_sigaction == other.sa_sigaction;
}

void do_default(const struct sigaction& action, int signal, const siginfo_t& info) {
  const bool is_sent = info.si_code <= 0; // by a process
  if (action.sa_handler == SIG_IGN && is_sent)
    return;
  struct sigaction fatal{};
  fatal.sa_handler = SIG_DFL;
  ::sigaction(signal, &fatal, nullptr);
  if (is_sent || signal == SIGTRAP) // a fault happens again
    ::raise(signal);
}

void pass_on(const Signal& signal, siginfo_t* info, void* context) {
  const std::size_t count = signal.count.load(std::memory_order_acquire);
  struct sigaction next{};
  if (called < count)
    next = signal.before[count - 1 - called];
  if (!(next.sa_flags & SA_SIGINFO) && (next.sa_handler == SIG_DFL || next.sa_handler == SIG_IGN))
    return do_default(next, signal.number, *info);
  sigset_t mask, own;
  ::pthread_sigmask(SIG_BLOCK, &next.sa_mask, &mask);
  ::sigemptyset(&own);
  ::sigaddset(&own, signal.number);
  if (next.sa_flags & SA_NODEFER)
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  const std::size_t outer = called++;
  if (next.sa_flags & SA_SIGINFO)
    next.sa_sigaction(signal.number, info, context);
  else
    next.sa_handler(signal.number);
  called = outer;
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// Returns whether the system has called this handler: then the context is right above the return address. If another
// handler has called it, that handler's frame is between. Handlers may leave by siglongjmp(), so a counter would be
// wrong.
bool is_systems_call(const void* context, const void* frame) {
  struct Linked {
    const void *before, *caller;
  };
  return context == static_cast<const Linked*>(frame) + 1;
}

void on_signal(int number, siginfo_t* info, void* context) {
  const Signal& signal = number == SIGSEGV ? faults : traps;
  if (is_systems_call(context, __builtin_frame_address(0)))
    called = 0;
  if (called > 0 || !signal.take(*info, *static_cast<const ucontext_t*>(context)))
    pass_on(signal, info, context);
}

// Installs this handler in front of a handler other than on_signal().
void come_before(Signal& signal) {
  struct sigaction now{}, ours{};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (signal.number == SIGTRAP ? SA_RESTART : 0);
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(signal.number, nullptr, &now) != 0 || is_same(now, ours))
    return;
  const std::lock_guard guard(signal.mutex);
  const std::size_t count = signal.count;
  const bool is_known = count > 0 && is_same(signal.before[count - 1], now);
  const std::size_t place = is_known || count == signal.before.size() ? count - 1 : count;
  signal.before[place] = now;
  signal.count.store(place + 1, std::memory_order_release);
  ::sigaction(signal.number, &ours, nullptr);
}

} // namespace

bool faults_are_readable() {
  return kIsReadable;
}

void watch_faults() {
  come_before(faults);
}
void watch_traps() {
  come_before(traps);
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
