// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "server.h"

#include "backoff.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace omptool::worker {
namespace {

constexpr std::chrono::milliseconds kHeld{1};       // of an answer that others follow
constexpr std::size_t kFull = 4096;                 // bytes of answers that leave without the last of the operations
constexpr std::chrono::milliseconds kFarewell{500}; // for the last message
constexpr Backoff::Time kLongestNap = std::chrono::milliseconds(4);
constexpr int kPatience = 3; // periods without a sign of the program

// Returns whether the task is answered already: its bytes travel alone and were announced, or it is the goodbye, after
// which the program does not wait.
bool is_answered(const Task& task) {
  const Operation& operation = task.operation;
  return operation.kind == mpi::Kind::kGoodbye ||
         (operation.kind == mpi::Kind::kRetrieve && operation.tag != 0 && task.outcome.result == 0);
}

// Throws mpi::Error: there is no memory for the bytes.
Buffer room_for(const Operation& operation) {
  try {
    return Buffer(operation.size);
  } catch (const std::exception&) { // std::bad_alloc or std::length_error, which name no size
    throw mpi::Error("there is no memory for the " + std::to_string(operation.size) + " bytes of operation " +
                     std::to_string(operation.id));
  }
}

} // namespace

Server::Server(mpi::Mpi& mpi, const mpi::Met& met, Backend& backend)
    : link_(mpi, met.communicator), backend_(backend), graph_(backend), rank_(mpi.rank(met.communicator)),
      forgotten_(static_cast<std::size_t>(link_.size())),
      program_(std::chrono::seconds(kPatience * met.welcome.heartbeat)) {}

bool Server::serve() {
  try {
    for (Backoff backoff(kLongestNap);
         !is_over_ || !graph_.is_idle() || !transfers_.empty() || link_.has_records() || !link_.tidy();) {
      if (step(std::chrono::nanoseconds::zero()))
        backoff.reset();
      else
        backoff.pause(
            [&](Backoff::Time time) { return !step(transfers_.empty() ? time : std::min(time, Backoff::kUsual)); });
    }
  } catch (const std::exception& error) {
    tell_end(error.what());
    throw;
  }
  return can_finalize_;
}

// Tells the program why this worker ends, if the program still receives messages.
void Server::tell_end(const std::string& why) {
  write(link_.records_for(mpi::kProgram), mpi::Answer{0, 1, 0, std::as_bytes(std::span(why))});
  link_.post();
  for (const Clock::time_point end = Clock::now() + kFarewell; !link_.tidy() && Clock::now() < end;)
    std::this_thread::sleep_for(kHeld);
}

// Makes one step. Returns false if there was nothing to do.
bool Server::step(std::chrono::nanoseconds time) {
  Graph::Turn turn = graph_.next(time);
  for (const TaskPtr& task : turn.for_mpi)
    move(task);
  for (const TaskPtr& task : turn.done)
    if (!is_answered(*task))
      answer(*task, 0);
  const bool any = !turn.for_mpi.empty() || !turn.done.empty();
  const bool has_moved = move_on(), has_taken = take_messages();
  heed_faults();
  look_after_program();
  post();
  link_.tidy();
  return any || has_moved || has_taken;
}

bool Server::take_messages() {
  std::vector<mpi::Link::Received> messages = link_.receive(mpi::kControl);
  const bool any = !messages.empty();
  link_.read(std::move(messages), [&](int from, Buffer bytes) {
    if (from != mpi::kProgram)
      throw mpi::Malformed("rank " + std::to_string(from) + " sends operations, and is not the program");
    program_.hear();
    const auto message = std::make_shared<const Buffer>(std::move(bytes));
    std::vector<TaskPtr> tasks;
    for (mpi::Reader reader(*message); !reader.at_end();) {
      const Operation operation = read_operation(reader);
      check(operation);
      if (is_operation(operation.kind))
        tasks.push_back(std::make_shared<Task>(Task{operation, message}));
      else
        heed(operation);
      if (operation.kind == mpi::Kind::kGoodbye) {
        is_over_ = true;
        can_finalize_ = operation.value == 0;
      }
    }
    graph_.add(std::move(tasks));
  });
  return any;
}

// Throws mpi::Malformed: bytes are to travel in a way that there is not.
void Server::check(const Operation& operation) const {
  const bool is_give = operation.kind == mpi::Kind::kGive;
  const bool can_travel_alone = is_give || operation.kind == mpi::Kind::kSubmit ||
                                operation.kind == mpi::Kind::kRetrieve || operation.kind == mpi::Kind::kImage;
  const bool is_possible = operation.tag == 0
                               ? !is_give
                               : can_travel_alone && operation.tag >= mpi::kFirstTag && operation.tag <= mpi::kLastTag;
  if (!is_possible)
    throw mpi::Malformed("operation " + std::to_string(operation.id) + " has tag " + std::to_string(operation.tag));
  const bool has_rank =
      is_give || operation.kind == mpi::Kind::kForget || (operation.kind == mpi::Kind::kSubmit && operation.tag != 0);
  const bool is_with_itself = operation.value == rank_ && operation.kind != mpi::Kind::kForget;
  if (has_rank && (operation.value < (is_give ? 1 : 0) || operation.value >= link_.size() || is_with_itself))
    throw mpi::Malformed("operation " + std::to_string(operation.id) + " is with rank " +
                         std::to_string(operation.value) + " of " + std::to_string(link_.size()));
}

// ---- losses ----

void Server::heed(const Operation& sign) {
  if (sign.kind == mpi::Kind::kPing) {
    write(link_.records_for(mpi::kProgram), mpi::Answer{});
    is_awaited_ = true; // it leaves at once
  } else if (sign.value == rank_)
    throw mpi::Malformed("the program takes this worker for lost");
  else
    forget(sign.value, "rank " + std::to_string(sign.value) + " of the program's workers is lost");
}

void Server::look_after_program() {
  if (program_.look(mpi::Pulse::Clock::now()) == mpi::Pulse::Verdict::kLost)
    throw mpi::Error("the program gives no sign of life");
}

void Server::heed_faults() {
  for (const mpi::Fault& fault : link_.faults())
    if (fault.rank == mpi::kProgram)
      throw mpi::Error(fault.why);
    else
      forget(fault.rank, fault.why);
}

// Copies from there and to there fail, now and later.
void Server::forget(int rank, const std::string& why) {
  if (rank == mpi::kProgram || !forgotten_[static_cast<std::size_t>(rank)].empty())
    return;
  forgotten_[static_cast<std::size_t>(rank)] = why;
  link_.drop(static_cast<std::size_t>(rank));
  std::vector<TaskPtr> over;
  std::erase_if(transfers_, [&](Transfer& one) {
    if (one.with != rank)
      return false;
    link_.cancel(one.requests);
    over.push_back(one.task);
    abandoned_.push_back(std::move(one));
    return true;
  });
  for (const TaskPtr& task : over)
    is_forgotten(task, rank);
}

// Ends the task if it is with a rank that is lost.
bool Server::is_forgotten(const TaskPtr& task, int rank) {
  const std::string& why = forgotten_[static_cast<std::size_t>(rank)];
  if (why.empty())
    return false;
  task->outcome = Outcome::failed(1, why);
  graph_.end(task);
  return true;
}

// ---- copies whose bytes travel alone ----

void Server::move(const TaskPtr& task) {
  if (task->operation.kind == mpi::Kind::kRetrieve || task->operation.kind == mpi::Kind::kGive)
    go(task);
  else
    come(task);
}

// Bytes come. Those for a device whose memory MPI can use go there; also where the operation has failed they are to be
// received, as they are under way.
void Server::come(const TaskPtr& task) {
  const Operation& operation = task->operation;
  const int from = operation.kind == mpi::Kind::kImage ? mpi::kProgram : operation.value;
  if (is_forgotten(task, from))
    return;
  const bool is_direct =
      task->outcome.result == 0 && operation.kind == mpi::Kind::kSubmit && backend_.is_in_host_memory(operation);
  std::span<std::byte> place(reinterpret_cast<std::byte*>(operation.target), operation.size);
  if (!is_direct) {
    task->bytes = room_for(operation);
    place = task->bytes;
  }
  transfers_.push_back({task, from, link_.receive(place, from, operation.tag)});
}

// Starts sending the bytes, if MPI can use their memory; the answer then says so to the program. Another worker always
// gets some bytes, because it waits for them.
void Server::go(const TaskPtr& task) {
  const Operation& operation = task->operation;
  const bool is_for_program = operation.kind == mpi::Kind::kRetrieve;
  const int to = is_for_program ? mpi::kProgram : operation.value;
  if (is_forgotten(task, to))
    return;
  if (task->outcome.result != 0) {
    if (is_for_program) {
      graph_.end(task);
      return;
    }
    task->bytes = room_for(operation);
    transfers_.push_back({task, to, link_.send(task->bytes, to, operation.tag)});
    return;
  }
  const bool is_direct = backend_.is_in_host_memory(operation);
  const bool is_read = task->outcome.bytes.size() == operation.size;
  if (!is_direct && !is_read) {
    graph_.run(task, [this, task] { return backend_.retrieve(task->operation); }, true);
    return;
  }
  if (is_for_program)
    answer(*task, operation.tag);
  const View bytes =
      is_direct ? View(reinterpret_cast<const std::byte*>(operation.source), operation.size) : task->outcome.bytes;
  transfers_.push_back({task, to, link_.send(bytes, to, operation.tag)});
}

bool Server::move_on() {
  std::vector<TaskPtr> over;
  std::erase_if(transfers_, [&](Transfer& one) {
    const bool is_over = link_.is_over(one.with, one.requests);
    if (is_over)
      over.push_back(one.task);
    return is_over;
  });
  for (const TaskPtr& task : over)
    arrived(task);
  return !over.empty();
}

void Server::arrived(const TaskPtr& task) {
  const Operation& operation = task->operation;
  const bool is_staged = operation.kind == mpi::Kind::kSubmit && !task->bytes.empty();
  if (operation.kind == mpi::Kind::kImage)
    backend_.add_image(operation.target, std::move(task->bytes));
  if (is_staged && task->outcome.result == 0)
    graph_.run(task, [this, task] { return backend_.submit(task->operation, task->bytes); });
  else
    graph_.end(task);
}

// ---- answers ----

void Server::answer(const Task& task, std::int32_t tag) {
  mpi::Buffer& records = link_.records_for(mpi::kProgram);
  if (records.empty())
    oldest_ = Clock::now();
  const bool has_bytes = task.outcome.result != 0 || (tag == 0 && task.operation.kind != mpi::Kind::kGive);
  const View bytes = has_bytes ? View(task.outcome.bytes) : View();
  const mpi::Span ran{task.ran.began, std::max(task.ran.began, task.ran.ended)}; // it may go on
  write(records, mpi::Answer{task.operation.id, task.outcome.result, tag, bytes, ran});
  is_awaited_ = is_awaited_ || task.is_awaited;
}

void Server::post() {
  const bool is_full = link_.has_records() && link_.records_for(mpi::kProgram).size() >= kFull;
  if (!link_.has_records() || (!is_awaited_ && !is_full && Clock::now() - oldest_ < kHeld))
    return;
  link_.post();
  is_awaited_ = false;
}

} // namespace omptool::worker
