// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines about ranks that hold up the start of a job, and the state of this machine's ranks.
#include "mpi/arrivals.h"

#include "scenario.h"

#include <csignal>
#include <cstdio>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using omptool::mpi::delays;
using omptool::mpi::RanksHere;
using Lines = std::vector<std::string>;

TEST_CASE("ranks that are stopped or have ended are named, those that have arrived are not") {
  CHECK(delays({5, true, {0, 1}, {2}}, {1}) ==
        Lines{"rank 2 has not finished MPI_Init: stopped", "ranks 3, 4 have not finished MPI_Init: ended"});
  CHECK(delays({3, true, {0, 1}, {}}, {2}) ==
        Lines{"not every rank has finished MPI_Init, and the processes of all ranks run"});
  const std::string many = delays({100, true, {0}, {}}, {}).front();
  CHECK(many == "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 91 more have not finished MPI_Init: ended");
}

TEST_CASE("ranks of other machines are not said to have ended") {
  const std::string others = "ranks of other machines may not have finished MPI_Init";
  CHECK(delays({4, false, {0, 1}, {}}, {}) == Lines{others});
  CHECK(delays({4, false, {0}, {1}}, {}) == Lines{"rank 1 has not finished MPI_Init: stopped", others});
  CHECK(delays({}, {}) == Lines{others});
}

// Starts a shell with this rank under the scenario's process, which has no rank.
static int started(const char* rank, const char* what) {
  const int child = ::fork();
  if (child == 0)
    ::execl("/usr/bin/env", "env", rank, "PMI_SIZE=4", "MPI_LOCALNRANKS=4", "sh", "-c", what, nullptr);
  return child;
}

SCENARIO_OF(ranks_of_a_job) {
  const int stopped = started("PMI_RANK=1", "kill -STOP $$"), running = started("PMI_RANK=2", "exec sleep 60");
  EXPECT(::waitpid(stopped, nullptr, WUNTRACED) == stopped);
  const int program = started("PMI_RANK=0", "exec /proc/$PPID/exe --scenario rank_0_of_a_job");
  int status = 0;
  EXPECT(::waitpid(program, &status, 0) == program);
  for (const int child : {stopped, running}) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return status;
}

SCENARIO_OF(rank_0_of_a_job) {
  const RanksHere here = omptool::mpi::ranks_here();
  EXPECT(here.size == 4 && here.are_all);
  EXPECT(here.running == (std::set<int>{0, 2}));
  EXPECT(here.stopped == std::set<int>{1});
  return 0;
}

TEST_CASE("the ranks of this machine are found by the launcher's variables") {
  const Outcome outcome = run_scenario("ranks_of_a_job");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}
