// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels whose threads wait for each other, or share memory of their team.
#pragma once

#include "kernels/crew.h"
#include "pool.h"

#include <cstdint>

namespace omptool::host {

// Returns 0 when all teams have ended, or OMPTARGET_RTL_NOT_STARTED.
std::int32_t run_teams(const TeamWork& work, Pool& pool, Crews& crews);

// Returns 0 if a team can have so many threads. Else sets last_error and returns OMPTARGET_RTL_NOT_STARTED.
std::int32_t fault_of_team(std::int32_t threads);

} // namespace omptool::host
