// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fault_stack.h"

#include "thread_exit.h"

#include <csignal>
#include <cstddef>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace omptool {
namespace {

constexpr std::size_t kOfHandler = std::size_t{64} << 10; // it demangles a name, and formats a line

// Size of the stack: the kernel's frame and the handler's own need.
std::size_t size_of_stack() noexcept {
  return ::getauxval(AT_MINSIGSTKSZ) + kOfHandler;
}

// Frees the stack when the thread ends.
void give_back(void* memory) {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory) {
    now = {nullptr, SS_DISABLE, 0};
    ::sigaltstack(&now, nullptr);
  }
  ::munmap(memory, size_of_stack());
}

constinit ThreadExit stack_at_exit(give_back);

} // namespace

// Makes the stack. Without memory for it, a fault ends the program without a message.
void make_fault_stack() noexcept {
  has_fault_stack = true;
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE))
    return;
  const std::size_t size = size_of_stack();
  void* const made = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (made == MAP_FAILED)
    return;
  if (!stack_at_exit.arm(made)) {
    ::munmap(made, size);
    return;
  }
  now = {made, 0, size};
  ::sigaltstack(&now, nullptr);
}

} // namespace omptool
