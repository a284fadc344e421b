// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "teams.h"

#include "common/calls.h"
#include "omptarget_rtl.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace omptool::host {
namespace {

// Launch of teams by several crews. It has one crew before it begins; a thread that gets no further crew waits for that
// one.
class TeamLaunch {
public:
  TeamLaunch(const TeamWork& work, Crews& crews, std::unique_ptr<Crew> first) : work_(work), crews_(crews) {
    free_.reserve(Pool::hardware_threads());
    free_.push_back(std::move(first));
  }
  ~TeamLaunch() {
    for (std::unique_ptr<Crew>& crew : free_)
      crews_.give_back(std::move(crew));
  }
  TeamLaunch(const TeamLaunch&) = delete;
  TeamLaunch& operator=(const TeamLaunch&) = delete;

  void run(std::int32_t team) {
    std::unique_ptr<Crew> crew = take();
    crew->run(work_, team);
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(crew)); // there is room: no more crews than threads of the pool and the caller
    }
    given_back_.notify_one();
  }

private:
  std::unique_ptr<Crew> take() {
    if (std::unique_ptr<Crew> crew = free_one())
      return crew;
    if (std::unique_ptr<Crew> crew = crews_.take(work_.num_threads, work_.kernel.memory))
      return crew;
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return !free_.empty(); });
    return pop();
  }
  std::unique_ptr<Crew> free_one() {
    const std::lock_guard lock(mutex_);
    return free_.empty() ? nullptr : pop();
  }
  std::unique_ptr<Crew> pop() {
    std::unique_ptr<Crew> crew = std::move(free_.back());
    free_.pop_back();
    return crew;
  }

  const TeamWork& work_;
  Crews& crews_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<Crew>> free_;
};

} // namespace

std::int32_t fault_of_team(std::int32_t threads) {
  if (threads <= OMPTOOL_TEAM_MOST_THREADS)
    return 0;
  fail("the launch asks for teams of " + std::to_string(threads) +
       " threads that wait for each other or share memory; " + std::to_string(OMPTOOL_TEAM_MOST_THREADS) +
       " are the most");
  return OMPTARGET_RTL_NOT_STARTED;
}

std::int32_t run_teams(const TeamWork& work, Pool& pool, Crews& crews) {
  if (const std::int32_t fault = fault_of_team(work.num_threads))
    return fault;
  std::unique_ptr<Crew> first = crews.take(work.num_threads, work.kernel.memory);
  if (!first) {
    fail("the process has no memory for a team of " + std::to_string(work.num_threads) + " threads that share " +
         std::to_string(work.kernel.memory) + " bytes");
    return OMPTARGET_RTL_NOT_STARTED;
  }
  TeamLaunch launch(work, crews, std::move(first));
  pool.run(
      work.num_teams,
      [](void* context, std::int64_t team) { static_cast<TeamLaunch*>(context)->run(static_cast<std::int32_t>(team)); },
      &launch);
  return 0;
}

} // namespace omptool::host
