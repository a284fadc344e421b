// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the tests of asynchronous calls.
#pragma once

#include "support.h"

#include <chrono>
#include <thread>
#include <type_traits>

// For ThreadSanitizer: a gate orders them, but what a kernel does with it is not watched.
__attribute__((no_sanitize("thread"), noinline)) inline int unwatched(const int& number) {
  return number;
}
template <typename T>
__attribute__((no_sanitize("thread"), noinline)) void set_unwatched(T& object, std::type_identity_t<T> value) {
  object = value;
}

// Gate variables, which kernels on the host plugin, and on those over it, share with the host: for add_ten_later of
// images/main.c.
struct Gate {
  int begun = 0, may_go_on = 0;
  Row its_begun() { return value(reinterpret_cast<std::uintptr_t>(&begun)); }
  Row its_key() { return value(reinterpret_cast<std::uintptr_t>(&may_go_on)); }
  void open() { __atomic_store_n(&may_go_on, 1, __ATOMIC_RELEASE); }
  bool has_begun() const { return device() >= 0; }
  int device() const { return __atomic_load_n(&begun, __ATOMIC_ACQUIRE) - 1; } // as the plugin numbers it
};

bool soon(const auto& is_so) {
  for (int i = 0; i < 20000 && !is_so(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return is_so();
}

inline void finish_all() {
  while (__tgt_process_dep() != 0)
    ;
}
