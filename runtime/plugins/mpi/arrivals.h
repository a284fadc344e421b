// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names the ranks that hold up the start of a job. MPI_Init returns only when every rank has called it, and MPI does
// not report which rank is missing. The launcher's variables and /proc show that for the ranks of this machine.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace omptool::mpi {

// Processes of the job's ranks on this machine, by the variables of the launcher.
struct RanksHere {
  int size = 0;          // of the job; 0: not set by the launcher
  bool are_all = false;  // every rank of the job belongs to this machine
  std::set<int> running; // ranks
  std::set<int> stopped; // ranks, by SIGSTOP or a debugger
};
RanksHere ranks_here();

// Returns the lines about ranks from 1 on that are not in `arrived`; the program is rank 0.
std::vector<std::string> delays(const RanksHere& here, const std::set<int>& arrived);

// Watch over ranks that have not arrived: prints the lines after 10 seconds and then each minute, until it is
// destroyed.
class ArrivalWatch {
public:
  ArrivalWatch() : thread_([this](const std::stop_token& end) { run(end); }) {}
  void note(int rank) {
    const std::lock_guard lock(mutex_);
    arrived_.insert(rank);
  }

private:
  void run(const std::stop_token& end);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<int> arrived_; // under the mutex
  std::jthread thread_;   // last: it uses the others
};

} // namespace omptool::mpi
