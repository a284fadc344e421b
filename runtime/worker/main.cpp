// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptool-worker: a rank of an MPI job that gives its devices to the program of another rank.
//
//   omptool-worker             the job's first rank is the program
//   omptool-worker --split     the job has programs of their own, which split MPI_COMM_WORLD by MPI_APPNUM
//   omptool-worker --dismiss   in place of a program that has ended without having used MPI
#include "backend.h"
#include "backoff.h"
#include "machine.h"
#include "mpi/transport/link.h"
#include "output.h"
#include "server.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace omptool::worker {
namespace {

int complain(const std::string& what) {
  std::fprintf(stderr, "omptool worker: %s\n", what.c_str());
  return 1;
}

// Exits without MPI_Finalize, whatever other threads do.
[[noreturn]] void leave(int exit_code) {
  std::fflush(stdout);
  ::_exit(exit_code);
}

// Returns the node's name without its domain.
std::string node() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || !name[0])
    return "an unknown node";
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

// Resets MPI's fault handlers, which print a stack: a plugin that names the kernel at fault skips signals that another
// library handles.
void leave_faults_to_plugins() {
  for (const machine::FaultSignal& signal : machine::kFaultSignals)
    std::signal(signal.number, SIG_DFL);
}

enum class Role { kFirst, kSplit, kDismiss };

void dismiss(mpi::Mpi& mpi) {
  const mpi::Crew crew = meet_workers(mpi, {});
  mpi::Link link(mpi, crew.communicator);
  for (std::size_t worker = 1; worker <= crew.greetings.size(); ++worker)
    write(link.records_for(worker), mpi::Operation{.kind = mpi::Kind::kGoodbye, .id = 1});
  link.post();
  for (Backoff backoff; !link.tidy();)
    backoff.pause();
}

// Serves the program. Ends the process if the program or its job is lost; other jobs continue.
void serve(mpi::Mpi& mpi, bool is_split) {
  Backend backend;
  const std::string name = node();
  const int rank = mpi.rank(mpi.world());
  const mpi::Met met = meet_program(mpi, {OMPTOOL_VERSION, {}, backend.describe(rank, name), {}, name}, is_split);
  const char* const prefix = ::secure_getenv("OMPTOOL_MPI_PREFIX");
  std::optional<PrefixedOutput> output;
  if (prefix && std::string_view(prefix) == "1")
    output.emplace(mpi.rank(mpi.world()));
  Server server(mpi, met, backend);
  bool can_finalize = false;
  try {
    can_finalize = server.serve();
  } catch (const std::exception& error) {
    output.reset();
    leave(complain("rank " + std::to_string(mpi.rank(mpi.world())) + " ends: " + error.what()));
  }
  output.reset();
  if (!can_finalize)
    leave(0);
}

int work(mpi::Mpi& mpi, Role role) {
  mpi.init(mpi::Level::kFunneled); // one thread makes all calls
  leave_faults_to_plugins();
  if (mpi.size(mpi.world()) == 1)
    return complain("MPI's world is this process alone: start it by the launcher of " + mpi.path + " (" + mpi.version +
                    "), or name the launcher's MPI in OMPTOOL_MPI");
  try {
    if (role == Role::kDismiss)
      dismiss(mpi);
    else
      serve(mpi, role == Role::kSplit);
  } catch (const std::exception& error) { // the program waits for this rank
    complain(error.what());
    mpi.abort(1);
  }
  mpi.finalize();
  return 0;
}

} // namespace
} // namespace omptool::worker

int main(int count, char** words) {
  using namespace omptool;
  const std::string_view word = count > 1 ? words[1] : "";
  const worker::Role role = word == "--split"     ? worker::Role::kSplit
                            : word == "--dismiss" ? worker::Role::kDismiss
                                                  : worker::Role::kFirst;
  if (count > 2 || (count == 2 && role == worker::Role::kFirst))
    return worker::complain("usage: omptool-worker [--split | --dismiss]");
  std::setvbuf(stdout, nullptr, _IOLBF, 0); // what kernels print comes when they print it
  std::string reason;
  const std::unique_ptr<mpi::Mpi> mpi = mpi::open(reason);
  if (!mpi)
    return worker::complain(reason);
  try {
    return worker::work(*mpi, role);
  } catch (const std::exception& error) {
    return worker::complain(error.what());
  }
}
