// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the environment variables about losses of workers.
#pragma once

#include <chrono>

namespace omptool::mpi {

// OMPTOOL_MPI_HEARTBEAT, or what is usual. Prints a line about a value that it ignores.
std::chrono::seconds heartbeat();

// Notes that the death of a worker ends the job, if the launcher is known to end jobs so. Prints the note only for
// users who count on losses (the variable above is set) or who ask for information (LIBOMPTARGET_INFO), because most
// MPI jobs always end so.
void note_end_of_job();

} // namespace omptool::mpi
