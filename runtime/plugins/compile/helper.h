// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `omptool lower`, in a process of its own: where it is, and one run of it.
#pragma once

#include <string>

namespace omptool::compile {

// The omptool of the installation that this library is part of, else one on PATH; "": neither is there.
std::string find_helper();

struct Job {
  std::string image; // paths
  std::string output;
  std::string log; // gets what it says
  std::string triple;
  std::string cpu; // "": the target's default
};

constexpr int kRefusal = 2; // as man/omptool-lower.1 has it: the module or the request is at fault

struct End {
  std::string fault;  // why there is no output, or ""
  int exit_code = -1; // where it is known
};

// The caller looks for the output in any case: how a child ended is not to be known where the program ignores SIGCHLD.
End run_helper(const std::string& helper, const Job& job);

} // namespace omptool::compile
