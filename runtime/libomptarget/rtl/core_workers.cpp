// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/core_workers.h"

#include "process/environment.h"
#include "process/per_process.h"
#include "workers.h"

#include <utility>

namespace omptool::core_workers {
namespace {

struct Pools {
  Workers operating{environment().in_flight}, finishing{environment().in_flight};
};

thread_local bool is_one [[gnu::tls_model("initial-exec")]] = false;

std::function<void()> marked(std::function<void()> work) {
  return [work = std::move(work)] {
    is_one = true;
    work();
  };
}

} // namespace

void operate(std::function<void()> work) {
  PerProcess<Pools>::get().operating.run(marked(std::move(work)));
}

void finish(std::function<void()> work) {
  PerProcess<Pools>::get().finishing.run(marked(std::move(work)));
}

void end() {
  if (Pools* const known = PerProcess<Pools>::known()) {
    known->operating.end();
    known->finishing.end();
  }
}

bool here() {
  return is_one;
}

} // namespace omptool::core_workers
