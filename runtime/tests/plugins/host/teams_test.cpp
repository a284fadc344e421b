// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Teams whose threads wait for each other: the kernels are functions of this file, called as those of images are.
#include "teams.h"

#include "common/calls.h"
#include "kernels/call.h"
#include "kernels/current_state.h"
#include "omptarget_rtl.h"

#include <algorithm>
#include <atomic>
#include <doctest/doctest.h>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using omptool::last_error;
using namespace omptool::host;

namespace {

Pool& pool = *new Pool; // its threads never end
Crews& crews = *new Crews;

template <typename... Ts>
std::int32_t launch(void (*kernel)(Ts*...), std::int32_t teams, std::int32_t threads, std::size_t memory,
                    Ts*... arguments) {
  std::vector<void*> all{arguments...};
  const std::size_t count = all.size();
  all.resize(std::max(count, kRegisterArguments));
  return run_teams({{reinterpret_cast<void*>(kernel), memory}, all.data(), count, teams, threads, 3}, pool, crews);
}

// Returns the state, read anew at each call, as a function of an image does.
[[gnu::noinline]] const omptool_thread_state& state() {
  return current.state;
}
std::size_t thread_num() {
  return static_cast<std::size_t>(state().thread_num);
}

// Sums all elements before each one, in as many steps as the number of threads has bits.
void sum_before(long* values) {
  const std::size_t me = thread_num(), threads = static_cast<std::size_t>(state().num_threads);
  long* const mine = values + static_cast<std::size_t>(state().team_num) * threads;
  long* const shared = static_cast<long*>(Crew::team_memory());
  shared[me] = mine[me];
  Crew::wait_for_team();
  for (std::size_t step = 1; step < threads; step *= 2) {
    const long more = me >= step ? shared[me - step] : 0;
    Crew::wait_for_team();
    shared[me] += more;
    Crew::wait_for_team();
  }
  mine[me] = shared[me];
}

bool sums_are_right(std::int32_t teams, std::int32_t threads) {
  const auto count = static_cast<std::size_t>(threads);
  std::vector<long> values(static_cast<std::size_t>(teams) * count), expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<long>(i * i % 1009);
  for (std::size_t i = 0; i < values.size(); ++i)
    expected[i] = values[i] + (i % count ? expected[i - 1] : 0);
  return launch(sum_before, teams, threads, count * sizeof(long), values.data()) == 0 && values == expected;
}

struct Counts {
  std::atomic<long> come[64]; // in each team
  std::atomic<int> wrong;
};

// Makes the threads come together: none passes a barrier before all have arrived.
void come_together(Counts* counts) {
  alignas(32) volatile char local[32] = {};
  std::atomic<long>& come = counts->come[state().team_num];
  counts->wrong += reinterpret_cast<std::uintptr_t>(local) % 32 != 0;
  for (long phase = 1; phase <= 10; ++phase) {
    const std::size_t me = thread_num();
    ++come;
    Crew::wait_for_team();
    counts->wrong += come != phase * state().num_threads || thread_num() != me || state().device_num != 3;
    Crew::wait_for_team();
  }
}

// Thread t leaves when it has passed t barriers.
void leave_early(Counts* counts) {
  const long me = state().thread_num;
  for (long phase = 0; phase < me; ++phase) {
    ++counts->come[phase];
    Crew::wait_for_team();
    counts->wrong += counts->come[phase] != state().num_threads - phase - 1;
  }
}

void inner(std::atomic<long>* come, std::atomic<int>* wrong) {
  ++*come;
  Crew::wait_for_team();
  *wrong += *come != state().num_threads;
}

// Outer kernel, which calls the runtime to launch another one while its own team waits.
void outer(Counts* counts) {
  const std::size_t me = thread_num();
  void* const memory = Crew::team_memory();
  Crew::wait_for_team();
  if (me == 1)
    counts->wrong += launch(inner, 1, 5, 64, &counts->come[state().team_num], &counts->wrong) != 0;
  counts->wrong += thread_num() != me || Crew::team_memory() != memory || state().num_threads != 7;
  Crew::wait_for_team();
  ++counts->come[61];
}

void check_memory(std::atomic<int>* wrong) {
  int* const mine = static_cast<int*>(Crew::team_memory());
  *wrong += reinterpret_cast<std::uintptr_t>(mine) % OMPTOOL_TEAM_MEMORY_ALIGNMENT != 0;
  mine[thread_num()] = state().team_num;
  Crew::wait_for_team();
  const auto threads = state().num_threads;
  *wrong += std::count(mine, mine + threads, state().team_num) != threads;
}

} // namespace

TEST_CASE("threads of a team exchange values at barriers") {
  for (const std::int32_t threads : {1, 2, 3, 64, 257})
    CHECK(sums_are_right(7, threads));
  CHECK(sums_are_right(1, OMPTOOL_TEAM_MOST_THREADS));
  CHECK(sums_are_right(300, 16));
}

TEST_CASE("nobody passes a barrier before all have come") {
  for (const std::int32_t threads : {1, 2, 50}) {
    Counts counts{};
    CHECK(launch(come_together, 20, threads, 0, &counts) == 0);
    CHECK(counts.wrong == 0);
    CHECK(std::all_of(counts.come, counts.come + 20, [&](const auto& come) { return come == 10 * threads; }));
  }
}

TEST_CASE("a barrier does not wait for those that have left the kernel") {
  Counts counts{};
  CHECK(launch(leave_early, 1, 60, 0, &counts) == 0);
  CHECK(counts.wrong == 0);
}

TEST_CASE("a thread that waits may have launched other teams") {
  Counts counts{};
  CHECK(launch(outer, 3, 7, 64, &counts) == 0);
  CHECK(counts.wrong == 0);
  for (const int team : {0, 1, 2})
    CHECK(counts.come[team] == 5);
  CHECK(counts.come[61] == 3 * 7);
  CHECK(state().num_threads == 1);
  CHECK(Crew::team_memory() == nullptr);
  Crew::wait_for_team(); // returns
}

TEST_CASE("each team has memory of its own") {
  std::atomic<int> wrong{0};
  for (const std::int32_t threads : {1, 5, 64})
    CHECK(launch(check_memory, 200, threads, sizeof(int) * 64, &wrong) == 0);
  CHECK(wrong == 0);
}

TEST_CASE("several launches at a time have crews of their own") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (std::int32_t caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (std::int32_t again = 0; again < 10; ++again)
        wrong += !sums_are_right(1 + again, 20 + caller);
    });
  for (std::thread& caller : callers)
    caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("stacks that wait for a launch take less than 100 MiB, whatever the size of a page") {
  constexpr std::int32_t kThreads = 512;
  constexpr std::size_t kMost = 100 << 20;
  Crews own;
  std::vector<std::unique_ptr<Crew>> busy;
  for (int i = 0; i < 8; ++i)
    REQUIRE(busy.emplace_back(own.take(kThreads, 0)));
  for (std::unique_ptr<Crew>& crew : busy)
    own.give_back(std::move(crew));
  std::size_t waiting = 0;
  for (std::unique_ptr<Crew>& crew : busy) {
    crew = own.take(1, 0);
    waiting += crew->stacks() == kThreads ? kThreads : 0; // a new one has a single stack
  }
  CHECK(waiting > 0);
  CHECK(waiting * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) < kMost); // each has touched a page
}

TEST_CASE("a team that is too large is not started, and the reason is said") {
  Counts counts{};
  CHECK(launch(come_together, 1, OMPTOOL_TEAM_MOST_THREADS + 1, 0, &counts) == OMPTARGET_RTL_NOT_STARTED);
  CHECK(std::string(last_error.data()).find("1025 threads") != std::string::npos);
  CHECK(launch(come_together, 1, 4, std::size_t{1} << 60, &counts) == OMPTARGET_RTL_NOT_STARTED);
  CHECK(std::string(last_error.data()).find("no memory for a team of 4 threads") != std::string::npos);
  CHECK(counts.come[0] == 0);
}
