// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what the environment says about losses of workers.
#pragma once

#include <chrono>

namespace omptool::mpi {

// OMPTOOL_MPI_HEARTBEAT, or what is usual. Prints a line about a value that it ignores.
std::chrono::seconds heartbeat();

// Says that the death of a worker ends the job, where the launcher does that as far as one can tell. Says so only to
// users who count on losses (they set the variable above) or who ask what the runtime does (LIBOMPTARGET_INFO): to
// others it is no news, since MPI's jobs always end so.
void note_end_of_job();

} // namespace omptool::mpi
