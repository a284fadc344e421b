// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fault_stack.h"

#include <csignal>
#include <cstddef>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace omptool {
namespace {

constexpr std::size_t kOfHandler = std::size_t{32} << 10; // it formats a line

// Of a thread. Where there is no memory, a fault ends the program without a line.
class FaultStack {
public:
  FaultStack() = default;
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;
  ~FaultStack() {
    if (!memory_)
      return;
    stack_t now{};
    if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory_) {
      now = {nullptr, SS_DISABLE, 0};
      ::sigaltstack(&now, nullptr);
    }
    ::munmap(memory_, size_);
  }
  void make() noexcept {
    stack_t now{};
    if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE))
      return;
    void* const made = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (made == MAP_FAILED)
      return;
    memory_ = made;
    now = {memory_, 0, size_};
    ::sigaltstack(&now, nullptr);
  }

private:
  const std::size_t size_ = ::getauxval(AT_MINSIGSTKSZ) + kOfHandler; // what the kernel saves there, and the handler's
  void* memory_ = nullptr;
};

thread_local FaultStack fault_stack;

} // namespace

void make_fault_stack() noexcept {
  has_fault_stack = true;
  fault_stack.make();
}

} // namespace omptool
