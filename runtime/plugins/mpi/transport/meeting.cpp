// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program and its workers find each other among the ranks of a job. Each worker works out whose it is, and greets
// that program in MPI_COMM_WORLD; then these ranks alone make a communicator. The program's own calls of MPI see
// nothing of that.
#include "backoff.h"
#include "link.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>

namespace omptool::mpi {
namespace {

constexpr std::chrono::seconds kPatience{60}; // of a program, for its first worker, and of a worker for its program

std::string other_version(const std::string& version) {
  return "a worker is of omptool " + version + ", and this is omptool " OMPTOOL_VERSION;
}

struct Greeted {
  int rank; // the worker's in MPI_COMM_WORLD
  Greeting greeting;
};

// The next greeting that arrives. Throws std::runtime_error where none comes.
Greeted next_greeting(Mpi& mpi, bool has_patience) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Backoff backoff;
  std::optional<Arrived> arrived;
  while (!(arrived = mpi.probe(kGreeting, mpi.world()))) {
    if (!has_patience && std::chrono::steady_clock::now() > end)
      throw std::runtime_error("no worker of the job has come within " + std::to_string(kPatience.count()) +
                               " s; a program that uses MPI splits MPI_COMM_WORLD by MPI_APPNUM first, as the workers "
                               "do");
    backoff.pause();
  }
  Buffer message(arrived->size);
  mpi.receive(message, *arrived);
  Greeting greeting = read_greeting(message);
  if (greeting.version != OMPTOOL_VERSION)
    throw std::runtime_error(other_version(greeting.version));
  return {arrived->source, std::move(greeting)};
}

// Throws std::runtime_error: the ranks cannot be the program's workers, whom MPI would not forgive.
void check_workers(Mpi& mpi, const std::vector<int>& workers) {
  std::vector<int> sorted = workers;
  std::sort(sorted.begin(), sorted.end());
  const bool is_sound = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() && sorted.front() >= 0 &&
                        sorted.back() < mpi.size(mpi.world()) &&
                        !std::binary_search(sorted.begin(), sorted.end(), mpi.rank(mpi.world()));
  if (!is_sound)
    throw std::runtime_error("a worker names ranks that are no workers of this job");
}

void send(Mpi& mpi, const Buffer& message, int to) {
  Request sent = mpi.send(message, to, kGreeting, mpi.world());
  for (Backoff backoff; !mpi.is_done(sent);)
    backoff.pause();
}

// Waits for the program's welcome with naps, however long the program runs before it uses its devices. The message
// helps users whose program waits for the workers in MPI_Finalize.
Welcome wait_for_welcome(Mpi& mpi, int program, bool says_so) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Backoff backoff(std::chrono::milliseconds(4));
  std::optional<Arrived> arrived;
  while (!(arrived = mpi.probe(kGreeting, mpi.world(), program))) {
    if (says_so && std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr,
                   "omptool worker: rank %d, a program, has not asked for its devices since %d s; it has to ask before "
                   "MPI_Finalize, which else waits for its workers for ever (omp_get_num_devices asks)\n",
                   program, static_cast<int>(kPatience.count()));
      says_so = false;
    }
    backoff.pause();
  }
  Buffer message(arrived->size);
  mpi.receive(message, *arrived);
  return read_welcome(message);
}

// Job: the ranks of programs and of workers in MPI_COMM_WORLD.
struct Job {
  std::vector<int> programs, workers;
};

Job job_of(Mpi& mpi, bool is_split) {
  const int size = mpi.size(mpi.world());
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  if (!is_split)
    return {{all.front()}, {all.begin() + 1, all.end()}};
  const std::optional<int> application = mpi.application();
  if (!application)
    throw std::runtime_error("this MPI does not tell its processes their program's number, MPI_APPNUM: " + mpi.path);
  // Communicator of the ranks of one application, which launchers number in a row.
  const Communicator mine = mpi.split(mpi.world(), *application);
  const auto first = static_cast<std::ptrdiff_t>(mpi.rank(mpi.world()) - mpi.rank(mine));
  const auto last = first + mpi.size(mine);
  Job job{{}, {all.begin() + first, all.begin() + last}};
  std::copy(all.begin(), all.begin() + first, std::back_inserter(job.programs));
  std::copy(all.begin() + last, all.end(), std::back_inserter(job.programs));
  return job;
}

// Workers of a program: each program has as many as the others, give or take one.
std::vector<int> workers_of(const Job& job, std::size_t program) {
  const std::size_t programs = job.programs.size(), workers = job.workers.size();
  std::vector<int> mine;
  for (std::size_t i = 0; i < workers; ++i)
    if (i * programs / workers == program)
      mine.push_back(job.workers[i]);
  return mine;
}

Communicator communicator_of(Mpi& mpi, int program, const std::vector<int>& workers) {
  std::vector<int> ranks{program};
  ranks.insert(ranks.end(), workers.begin(), workers.end());
  const Communicator made = mpi.of_ranks(mpi.world(), ranks, kGroup);
  mpi.return_errors(made);
  return made;
}

} // namespace

Crew meet_workers(Mpi& mpi, Welcome welcome, const std::function<void(int rank)>& greeted) {
  Greeted next = next_greeting(mpi, false);
  const std::vector<int> workers = next.greeting.workers;
  if (workers.empty())
    throw std::runtime_error("the job has fewer workers than programs, and this program has none");
  check_workers(mpi, workers);
  Crew crew{{}, std::vector<Greeting>(workers.size())};
  for (std::size_t count = 1;; ++count) {
    if (greeted)
      greeted(next.rank);
    if (next.greeting.workers != workers)
      throw std::runtime_error("rank " + std::to_string(next.rank) + " names other workers than the first one does");
    const auto at = std::find(workers.begin(), workers.end(), next.rank) - workers.begin();
    if (static_cast<std::size_t>(at) == workers.size())
      throw std::runtime_error("rank " + std::to_string(next.rank) +
                               " greets as a worker, and is not one of this program's");
    Greeting& place = crew.greetings[static_cast<std::size_t>(at)];
    if (!place.version.empty())
      throw std::runtime_error("rank " + std::to_string(next.rank) + " greets twice");
    place = std::move(next.greeting);
    if (count == workers.size())
      break;
    next = next_greeting(mpi, true);
  }
  for (const int rank : workers)
    send(mpi, written(welcome), rank);
  crew.communicator = communicator_of(mpi, mpi.rank(mpi.world()), workers);
  return crew;
}

Met meet_program(Mpi& mpi, Greeting greeting, bool is_split) {
  const Job job = job_of(mpi, is_split);
  const int rank = mpi.rank(mpi.world());
  if (job.programs.empty())
    throw std::runtime_error("the job has workers alone, and no program");
  std::size_t program = 0;
  while (greeting.workers = workers_of(job, program),
         std::find(greeting.workers.begin(), greeting.workers.end(), rank) == greeting.workers.end())
    ++program;
  const int mine = job.programs[program];
  send(mpi, written(greeting), mine);
  if (rank == job.workers.front())
    for (std::size_t other = 0; other < job.programs.size(); ++other)
      if (workers_of(job, other).empty())
        send(mpi, written(Greeting{OMPTOOL_VERSION, {}, {}, {}, {}}), job.programs[other]);
  const Welcome welcome = wait_for_welcome(mpi, mine, is_split && rank == greeting.workers.front());
  return {communicator_of(mpi, mine, greeting.workers), welcome};
}

} // namespace omptool::mpi
