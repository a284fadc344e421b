// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs `omptool lower` in a process of its own: finds the command, and runs it once.
#pragma once

#include <string>

namespace omptool::compile {

// Finds the omptool of this library's installation, else one on PATH. Returns "" if neither exists.
std::string find_helper();

struct Job {
  std::string image; // paths
  std::string output;
  std::string log; // file for the helper's output
  std::string triple;
  std::string cpu; // "": the target's default
};

constexpr int kRefusal = 2; // as man/omptool-lower.1 has it: the module or the request is at fault

struct End {
  std::string fault;  // why there is no output, or ""
  int exit_code = -1; // -1: not known
};

// Runs the helper. The caller checks for the output in any case: a program that ignores SIGCHLD hides the exit status.
End run_helper(const std::string& helper, const Job& job);

} // namespace omptool::compile
