// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Suspended execution: a stack, and the register values to resume with. Reports every change of stacks to sanitizers.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define OMPTOOL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OMPTOOL_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define OMPTOOL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OMPTOOL_THREAD_SANITIZER 1
#endif
#endif

namespace omptool::host {

class Context {
public:
  using Main = void (*)(void* argument);

  // The calling thread's own, as it stands.
  Context() = default;
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  // One that begins by main(argument) when it is first entered, and never returns from it. The stack must stay.
  Context(std::byte* stack, std::size_t size, Main main, void* argument);

  // Suspends this context and continues in `to` on the calling thread. Returns when another context resumes this one.
  void leave_for(Context& to);
  // Begins the context's first run. A Main calls it before all else.
  void has_begun();
  // Makes this the calling thread's own context, before the thread switches away. It may have been another thread's.
  void is_this_thread();

private:
  // Begins a switch. Inlined, because ThreadSanitizer's stack of calls belongs to another context when this function
  // returns.
  [[gnu::always_inline]] void begin_leaving(Context& to);
  [[gnu::always_inline]] void has_arrived();

  void* position_ = nullptr; // the stack pointer, below the registers that a function keeps
#ifdef OMPTOOL_ADDRESS_SANITIZER
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
#endif
#if defined(OMPTOOL_ADDRESS_SANITIZER) || defined(OMPTOOL_THREAD_SANITIZER)
  Context* left_ = nullptr; // where the thread ran before this was entered
#endif
#ifdef OMPTOOL_THREAD_SANITIZER
  void* fiber_ = nullptr;
  bool is_made_here_ = false;
#endif
};

} // namespace omptool::host
