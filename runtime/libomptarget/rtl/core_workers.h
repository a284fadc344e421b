// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the core's, for what is to be done when a call has returned. Two pools, so that kernels which wait for
// the host never take the threads of what the host waits for. In a child of fork() what was given is lost.
#pragma once

#include "process/environment.h"
#include "process/per_process.h"
#include "workers.h"

#include <functional>
#include <utility>

namespace omptool::core_workers {

// Two threads do what follows when operations have ended: it is short, but for the callbacks of programs and tools.
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
