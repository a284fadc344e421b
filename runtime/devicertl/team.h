// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows the team of each thread. The host plugin calls a kernel once for each team; the threads of a team are libomp's.
#pragma once

#include "host/kernels/thread_state.h"

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>

namespace omptool::devicertl {

struct Team {
  std::int32_t number = 0;
  std::int32_t count = 0;        // 0: the thread runs no kernel that calls __kmpc_target_init
  std::int32_t thread_limit = 0; // 0: the program names none
};

// The team of the calling thread. libomp's threads get it with their parallel region. Not inline: g++ would make it a
// symbol that keeps the image loaded.
static thread_local constinit Team current{};

// Returns how many threads a parallel region gets, or 0: libomp decides. `asked` is 0 without a num_threads clause.
// Several teams have the processors for themselves already: a thread each.
inline std::int32_t threads_for(std::int32_t asked) {
  const std::int32_t threads = asked > 0 ? asked : current.count > 1 ? 1 : 0;
  if (current.thread_limit == 0)
    return threads;
  return std::min(threads > 0 ? threads : omp_get_max_threads(), current.thread_limit);
}

// Runs a query of OpenMP. Kernels of other compilers in the same image run in teams of libomp; libomp answers for
// those. Without libomp the result is `otherwise`.
class LibompsQuery {
public:
  constexpr LibompsQuery(const char* name, int otherwise) : name_(name), otherwise_(otherwise) {}
  int operator()() {
    using Query = int (*)();
    void* found = __atomic_load_n(&found_, __ATOMIC_RELAXED);
    if (!found) {
      found = ::dlsym(RTLD_NEXT, name_);
      __atomic_store_n(&found_, found, __ATOMIC_RELAXED);
    }
    return found ? reinterpret_cast<Query>(found)() : otherwise_;
  }

private:
  const char* const name_;
  const int otherwise_;
  void* found_ = nullptr;
};

} // namespace omptool::devicertl
