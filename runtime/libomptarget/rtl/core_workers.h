// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the core, for work after a call has returned. Two pools, so that kernels that wait for the host never use
// up the threads that the host waits for. A child of fork() loses pending work.
#pragma once

#include "process/environment.h"
#include "process/per_process.h"
#include "workers.h"

#include <functional>
#include <utility>

namespace omptool::core_workers {

// Pools: two threads run the work after an operation's end, which is short except for callbacks of programs and tools.
struct Pools {
  Workers operating{environment().in_flight}, finishing{environment().in_flight, 2};
};

// Operations of a device without queues, which may wait for one another: their dependences are met.
inline void operate(std::function<void()> work) {
  PerProcess<Pools>::get().operating.run(std::move(work));
}
// Runs work that follows when operations have ended, and the program's callbacks.
inline void finish(std::function<void()> work) {
  PerProcess<Pools>::get().finishing.run(std::move(work));
}
// Ends those that have no work: for a process that exits.
inline void end() {
  if (Pools* const known = PerProcess<Pools>::known()) {
    known->operating.end();
    known->finishing.end();
  }
}
// Returns whether the calling thread is one of these.
inline bool here() {
  const Pools* const known = PerProcess<Pools>::known();
  return known && (known->operating.here() || known->finishing.here());
}

} // namespace omptool::core_workers
