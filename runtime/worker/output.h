// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the worker's rank before each line that its kernels print (OMPTOOL_MPI_PREFIX=1).
#pragma once

#include <string>
#include <thread>

namespace omptool::worker {

class PrefixedOutput {
public:
  explicit PrefixedOutput(int rank);
  // Writes what is left.
  ~PrefixedOutput();
  PrefixedOutput(const PrefixedOutput&) = delete;
  PrefixedOutput& operator=(const PrefixedOutput&) = delete;

private:
  void pass_on(int from);

  const std::string prefix_;
  int to_ = -1; // the standard output as it was; -1: it is as it was
  std::thread thread_;
};

} // namespace omptool::worker
