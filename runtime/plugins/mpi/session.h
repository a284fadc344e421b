// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Session of the program in the job: its MPI, its workers, and their descriptions.
#pragma once

#include "transport/link.h"
#include "transport/mpi.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace omptool::mpi {

struct Session {
  std::unique_ptr<Mpi> mpi;
  Crew crew;                                   // the worker of greeting i has rank i + 1
  std::chrono::seconds heartbeat{0};           // a longer silence of a worker is a loss; 0: none is
  bool is_ours = false;                        // this plugin has initialised MPI, and finalises it
  std::string reason = "there are no workers"; // "": there are
};

// Waits for the workers of the job. There is one for the life of the process: MPI starts once.
Session start_session();

} // namespace omptool::mpi
