// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/core_workers.h"

#include "process/environment.h"
#include "process/per_process.h"
#include "workers.h"

#include <utility>

namespace omptool::core_workers {
namespace {

// Two threads do what follows when operations have ended: it is short, but for the callbacks of programs and tools.
constexpr unsigned kFinishing = 2;

struct Pools {
  Workers operating{environment().in_flight}, finishing{environment().in_flight, kFinishing};
};

} // namespace

void operate(std::function<void()> work) {
  PerProcess<Pools>::get().operating.run(std::move(work));
}

void finish(std::function<void()> work) {
  PerProcess<Pools>::get().finishing.run(std::move(work));
}

void end() {
  if (Pools* const known = PerProcess<Pools>::known()) {
    known->operating.end();
    known->finishing.end();
  }
}

bool here() {
  const Pools* const known = PerProcess<Pools>::known();
  return known && (known->operating.here() || known->finishing.here());
}

} // namespace omptool::core_workers
