// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the rank of this process in an MPI job, from the launcher's variables, so that MPI is not called.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace omptool::trace {

// Rank, or "" outside a job. Slurm's variable comes last, because Slurm may have started another launcher.
inline std::string rank_of_process() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* const rank = ::secure_getenv(name); rank && *rank && rank[std::strspn(rank, "0123456789")] == '\0')
      return rank;
  return {};
}

// The host's name in a trace.
inline std::string name_of_host() {
  const std::string rank = rank_of_process();
  return "host, " + (rank.empty() ? "" : "rank " + rank + ", ") + "process " + std::to_string(::getpid());
}

} // namespace omptool::trace
