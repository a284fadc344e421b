// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include "transport/wire.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace omptool::mpi {
namespace {

constexpr const char* kHeartbeat = "OMPTOOL_MPI_HEARTBEAT";
constexpr std::chrono::seconds kUsual{10};

bool is_set(const char* variable) {
  const char* const value = ::secure_getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

bool is_any_of(const char* variable, const char* one, const char* other) {
  const char* const value = std::getenv(variable);
  return value && (std::strcmp(value, one) == 0 || std::strcmp(value, other) == 0);
}

// Reads from the launcher's variables whether it was asked to continue after a death.
bool goes_on_after_a_death() {
  return is_any_of("OMPI_MCA_orte_enable_recovery", "1", "true") || // mpirun --enable-recovery of Open MPI 4
         is_any_of("OMPI_MCA_mpi_ft_enable", "1", "true") ||        // mpirun --with-ft ulfm of Open MPI 5
         is_set("I_MPI_FAULT_CONTINUE") ||                          // Intel MPI
         is_any_of("SLURM_KILL_BAD_EXIT", "0", "0");                // srun --kill-on-bad-exit=0, by its variable
}

} // namespace

std::chrono::seconds heartbeat() {
  const char* const text = ::secure_getenv("OMPTOOL_MPI_HEARTBEAT");
  if (!text || !*text)
    return kUsual;
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (*end == '\0' && value >= 0 && value <= static_cast<long long>(kLongestHeartbeat))
    return std::chrono::seconds(value);
  std::fprintf(stderr, "omptarget: plugin mpi ignores %s=%s; known values: integers from 0 to %llu, in seconds\n",
               kHeartbeat, text, static_cast<unsigned long long>(kLongestHeartbeat));
  return kUsual;
}

void note_end_of_job() {
  if ((is_set(kHeartbeat) || is_set("LIBOMPTARGET_INFO")) && !goes_on_after_a_death())
    std::fputs("omptarget: plugin mpi: the death of a worker ends this job, as far as its launcher's variables tell "
               "(docs/runtime.md names the options with which a job goes on)\n",
               stderr);
}

} // namespace omptool::mpi
