// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scenario on a device that fails at its k-th call (support/fakes/fakefail.cpp), for each k.
#pragma once

#include "support.h"

#include <string>
#include <vector>

// From one k to the next: processes with a sanitizer take long to start, and the plain build tries each.
#if defined(RACES_ARE_SOUGHT)
inline constexpr int kSweepStep = 13;
#elif defined(SANITIZED)
inline constexpr int kSweepStep = 7;
#else
inline constexpr int kSweepStep = 1;
#endif

// Counts how often the scenario ended well, and how often by a message.
struct FaultSweep {
  int completed = 0;
  int aborted = 0;
};

// Checks that it does either, where the k-th call alone fails and where all after it do, too. The scenario prints
// "done" when its results are right.
FaultSweep fail_each_call(const std::string& scenario, const std::vector<std::string>& environment = {});
