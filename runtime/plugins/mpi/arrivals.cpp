// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrivals.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace omptool::mpi {
namespace {

// Variables of launchers: a process's rank, and the numbers of ranks in the job and on the machine; null: none.
struct Launcher {
  const char *rank, *size, *size_here;
};
constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
                                   {"PMIX_RANK", "SLURM_NTASKS", nullptr},
                                   {"SLURM_PROCID", "SLURM_NTASKS", nullptr}};

int number_in(const char* variable) {
  const char* const value = variable ? std::getenv(variable) : nullptr;
  return value ? std::atoi(value) : 0;
}

struct Process {
  int parent = 0;
  char state = '?';
};

// Reads a process from "pid (name) state parent ...", where the name may have any character.
std::optional<Process> process_of(int number) {
  std::ifstream file("/proc/" + std::to_string(number) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos || end + 4 > line.size())
    return std::nullopt;
  return Process{std::atoi(line.c_str() + end + 4), line[end + 2]};
}

std::map<int, Process> all_processes() {
  std::map<int, Process> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored))
    if (const int number = std::atoi(entry.path().filename().c_str()); number > 0)
      if (const std::optional<Process> process = process_of(number))
        all.emplace(number, *process);
  return all;
}

// The rank of a process of this user's; nothing: it has none.
std::optional<int> rank_of(int number, std::string_view variable) {
  std::ifstream file("/proc/" + std::to_string(number) + "/environ", std::ios::binary);
  const std::string name = std::string(1, '\0') + std::string(variable) + "=";
  const std::string all =
      std::string(1, '\0') + std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  const std::size_t at = all.find(name);
  return at == std::string::npos ? std::nullopt : std::optional(std::atoi(all.c_str() + at + name.size()));
}

// Returns the process that has started the ranks of this machine: the nearest ancestor without a rank.
int starter_of(const std::map<int, Process>& all, std::string_view variable) {
  int number = ::getpid();
  while (rank_of(number, variable)) {
    const auto known = all.find(number);
    if (known == all.end())
      return 0;
    number = known->second.parent;
  }
  return number;
}

bool is_below(const std::map<int, Process>& all, int number, int ancestor) {
  for (auto at = all.find(number); at != all.end(); at = all.find(at->second.parent))
    if (at->second.parent == ancestor)
      return true;
  return false;
}

// Returns a phrase such as "rank 2 has" or "ranks 2, 3 and 7 more have".
std::string named(const std::set<int>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string names;
  std::size_t count = 0;
  for (auto at = ranks.begin(); at != ranks.end() && count < kMost; ++at, ++count)
    names += (count == 0 ? "" : ", ") + std::to_string(*at);
  if (ranks.size() > kMost)
    names += " and " + std::to_string(ranks.size() - kMost) + " more";
  return (ranks.size() == 1 ? "rank " : "ranks ") + names + (ranks.size() == 1 ? " has" : " have");
}

} // namespace

RanksHere ranks_here() {
  for (const Launcher& launcher : kLaunchers) {
    if (!std::getenv(launcher.rank))
      continue;
    RanksHere here;
    here.size = number_in(launcher.size);
    here.are_all = here.size != 0 && number_in(launcher.size_here) == here.size;
    const std::map<int, Process> all = all_processes();
    const int starter = starter_of(all, launcher.rank);
    for (const auto& [number, process] : all)
      if (process.state != 'Z' && process.state != 'X' && is_below(all, number, starter))
        if (const std::optional<int> rank = rank_of(number, launcher.rank))
          (process.state == 'T' || process.state == 't' ? here.stopped : here.running).insert(*rank);
    return here;
  }
  return {};
}

std::vector<std::string> delays(const RanksHere& here, const std::set<int>& arrived) {
  std::set<int> stopped, absent;
  for (int rank = 1; rank < here.size; ++rank) {
    if (arrived.contains(rank))
      continue;
    if (here.stopped.contains(rank))
      stopped.insert(rank);
    else if (!here.running.contains(rank))
      absent.insert(rank);
  }
  std::vector<std::string> lines;
  if (!stopped.empty())
    lines.push_back(named(stopped) + " not finished MPI_Init: stopped");
  if (!absent.empty() && here.are_all)
    lines.push_back(named(absent) + " not finished MPI_Init: ended");
  else if (!absent.empty() || here.size == 0)
    lines.push_back("ranks of other machines may not have finished MPI_Init");
  if (lines.empty())
    lines.push_back("not every rank has finished MPI_Init, and the processes of all ranks run");
  return lines;
}

void ArrivalWatch::run(const std::stop_token& end) {
  constexpr std::chrono::seconds kFirst{10}, kNext{60};
  std::chrono::seconds waited = kFirst;
  std::unique_lock lock(mutex_);
  for (std::chrono::seconds pause = kFirst;; pause = kNext, waited += kNext) {
    changed_.wait_for(lock, end, pause, [] { return false; });
    if (end.stop_requested())
      return;
    for (const std::string& line : delays(ranks_here(), arrived_))
      std::fprintf(stderr, "omptarget: plugin mpi has waited for %d s: %s\n", static_cast<int>(waited.count()),
                   line.c_str());
  }
}

} // namespace omptool::mpi
