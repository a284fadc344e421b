// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.h"

#include "arrivals.h"
#include "backoff.h"
#include "settings.h"

#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <utility>

namespace omptool::mpi {
namespace {

// Sends the workers home in MPI_Finalize, which would wait for them. At this thread level only the thread that calls
// MPI_Finalize may call MPI.
void send_workers_home(Mpi& mpi) {
  if (!mpi.is_main_thread())
    return;
  mpi.when_finalizing([&mpi] {
    try {
      Link link(mpi, meet_workers(mpi, {}).communicator);
      for (int worker = 1; worker < link.size(); ++worker)
        write(link.records_for(static_cast<std::size_t>(worker)), Operation{.kind = Kind::kGoodbye, .id = 1});
      link.post();
      for (Backoff backoff; !link.tidy();)
        backoff.pause();
    } catch (const std::exception&) { // there are none
    }
  });
}

// Gets MPI ready, and watches the start of a job that waits in this MPI_Init. Returns why MPI cannot be used, or "".
std::string begin(Session& session, std::optional<ArrivalWatch>& watch) {
  Mpi& mpi = *session.mpi;
  if (mpi.is_finalized())
    return "the program has finalised MPI";
  if (mpi.is_initialized()) {
    const Level level = mpi.level();
    if (level == Level::kMultiple) // the program's threads call MPI, and so do ours
      return {};
    send_workers_home(mpi);
    return std::string("the program has initialised MPI with ") + name_of(level) +
           "; its workers need MPI_THREAD_MULTIPLE (omptool run --workers asks MPI for it)";
  }
  if (mpi.is_programs)
    return "the program has an MPI, and has yet to initialise it: call MPI_Init_thread before the first region";
  session.is_ours = true;
  watch.emplace();
  if (const Level level = mpi.init(Level::kMultiple); level < Level::kSerialized)
    return mpi.path + " gives " + name_of(level) + "; workers need MPI_THREAD_SERIALIZED";
  return {};
}

// Tells `omptool run`, which would send the workers home for a program that does not use MPI.
void mark_as_started() {
  if (const char* const marker = ::secure_getenv("OMPTOOL_MPI_STARTED"))
    if (const int file = ::open(marker, O_WRONLY | O_CLOEXEC); file >= 0) {
      [[maybe_unused]] const ssize_t written = ::write(file, "1", 1);
      ::close(file);
    }
}

std::string meet(Session& session) {
  std::optional<ArrivalWatch> watch;
  if (std::string fault = begin(session, watch); !fault.empty())
    return fault;
  mark_as_started();
  Mpi& mpi = *session.mpi;
  if (mpi.size(mpi.world()) == 1)
    return "MPI's world is this process alone: start it by the launcher of " + mpi.path + " (" + mpi.version +
           "), with a rank for each worker, or name the launcher's MPI in OMPTOOL_MPI";
  session.heartbeat = heartbeat();
  session.crew = meet_workers(mpi, {static_cast<std::uint64_t>(session.heartbeat.count())}, [&](int rank) {
    if (watch)
      watch->note(rank);
  });
  for (const Greeting& greeting : session.crew.greetings)
    if (!greeting.fault.empty())
      return "a worker has failed: " + greeting.fault;
  note_end_of_job();
  return {};
}

} // namespace

Session start_session() {
  Session session;
  session.reason.clear();
  session.mpi = open(session.reason);
  if (!session.mpi)
    return session;
  try {
    session.reason = meet(session);
  } catch (const std::exception& error) {
    session.reason = error.what();
  }
  return session;
}

} // namespace omptool::mpi
