// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that no thread enters the dynamic linker or a plugin while it holds a lock of the runtime
// (docs/architecture.md, "Locks and the dynamic linker"). Builds with OMPTOOL_SANITIZE have the check, and define
// OMPTOOL_CHECK_LOCKS. In all others this header is empty functions and plain pointers.
//
// The linker's option --wrap leads calls of pthreads and of the dynamic linker through held_locks.cpp. So mutexes,
// std::call_once and the guards of static variables need no types of their own.
#pragma once

#include <cstddef>

namespace omptool::held_locks {

#ifdef OMPTOOL_CHECK_LOCKS

// Counts a lock that is not one of pthreads.
void acquired();
void released();
// Forgets a mutex that the calling thread has locked: threads/turn.h.
void forget(const void* mutex);
// Aborts with a line that names the call if the calling thread holds a lock.
void require_none(const char* call);
std::size_t count();

// A function of a plugin, which is called without a lock.
template <typename Function> class PluginFunction {
public:
  constexpr PluginFunction(const char* name, Function function) : name_(name), function_(function) {}
  constexpr PluginFunction(std::nullptr_t) {}
  PluginFunction& operator=(Function function) {
    function_ = function;
    return *this;
  }
  explicit operator bool() const { return function_ != nullptr; }
  bool operator==(std::nullptr_t) const { return function_ == nullptr; }
  template <typename... Arguments> decltype(auto) operator()(Arguments... arguments) const {
    require_none(name_);
    return function_(arguments...);
  }
  Function& pointer() { return function_; }
  Function pointer() const { return function_; }

private:
  const char* name_ = "a function of a plugin";
  Function function_ = nullptr;
};
template <typename Function> Function pointer_to(const PluginFunction<Function>& function) {
  return function.pointer();
}

#else

template <typename Function> Function pointer_to(Function function) {
  return function;
}
inline void acquired() {}
inline void released() {}
inline void forget(const void*) {}

#endif

} // namespace omptool::held_locks
