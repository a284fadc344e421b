// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "server.h"

#include "backoff.h"

#include <utility>

namespace omptool::worker {
namespace {

constexpr std::chrono::milliseconds kHeld{1}; // of an answer that others follow

// Bytes that travel alone have been announced. The program does not wait for more once it has said goodbye.
bool is_answered(const Task& task) {
  const Operation& operation = task.operation;
  return operation.kind == mpi::Kind::kGoodbye ||
         (operation.kind == mpi::Kind::kRetrieve && operation.tag != 0 && task.outcome.result == 0);
}

} // namespace

void Server::serve() {
  for (Backoff backoff;
       !is_over_ || !graph_.is_idle() || !transfers_.empty() || link_.has_records() || !link_.tidy();) {
    if (step(std::chrono::nanoseconds::zero()))
      backoff.reset();
    else
      backoff.pause([&](Backoff::Time time) { step(time); });
  }
}

// False: nothing was to be done.
bool Server::step(std::chrono::nanoseconds time) {
  Graph::Turn turn = graph_.next(time);
  for (const TaskPtr& task : turn.for_mpi)
    move(task);
  for (const TaskPtr& task : turn.done)
    if (!is_answered(*task))
      answer(*task, 0);
  const bool any = !turn.for_mpi.empty() || !turn.done.empty();
  const bool has_moved = move_on(), has_taken = take_messages();
  post();
  return any || has_moved || has_taken;
}

bool Server::take_messages() {
  return link_.take(mpi::kControl, [&](int from, View bytes) {
    if (from != mpi::kProgram)
      throw mpi::Malformed("rank " + std::to_string(from) + " sends operations, and is not the program");
    const auto message = std::make_shared<const Buffer>(bytes.begin(), bytes.end());
    std::vector<TaskPtr> tasks;
    for (mpi::Reader reader(*message); !reader.at_end();) {
      tasks.push_back(std::make_shared<Task>(Task{read_operation(reader), message}));
      const Operation& operation = tasks.back()->operation;
      is_over_ = is_over_ || operation.kind == mpi::Kind::kGoodbye;
      const bool can_travel_alone = operation.kind == mpi::Kind::kSubmit || operation.kind == mpi::Kind::kRetrieve ||
                                    operation.kind == mpi::Kind::kGive || operation.kind == mpi::Kind::kImage;
      const bool is_possible =
          operation.tag == 0 ? operation.kind != mpi::Kind::kGive
                             : can_travel_alone && operation.tag >= mpi::kFirstTag && operation.tag <= mpi::kLastTag;
      if (!is_possible)
        throw mpi::Malformed("operation " + std::to_string(operation.id) + " has tag " + std::to_string(operation.tag));
    }
    graph_.add(std::move(tasks));
  });
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
  const bool is_direct =
      task->outcome.result == 0 && operation.kind == mpi::Kind::kSubmit && backend_.is_in_host_memory(operation);
  std::span<std::byte> place(reinterpret_cast<std::byte*>(operation.target), operation.size);
  if (!is_direct) {
    task->bytes.resize(operation.size);
    place = task->bytes;
  }
  const bool is_programs = operation.kind == mpi::Kind::kImage;
  transfers_.push_back({task, link_.receive(place, is_programs ? mpi::kProgram : operation.value, operation.tag)});
}

// Bytes go, when they are at a place that MPI can use; the answer says so to the program. Another worker gets some in
// any case, since it waits for them.
void Server::go(const TaskPtr& task) {
  const Operation& operation = task->operation;
  const bool is_for_program = operation.kind == mpi::Kind::kRetrieve;
  if (task->outcome.result != 0) {
    if (is_for_program) {
      graph_.end(task);
      return;
    }
    task->bytes.resize(operation.size);
    transfers_.push_back({task, link_.send(task->bytes, operation.value, operation.tag)});
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
  const int to = is_for_program ? mpi::kProgram : operation.value;
  transfers_.push_back({task, link_.send(bytes, to, operation.tag)});
}

bool Server::move_on() {
  std::vector<TaskPtr> over;
  std::erase_if(transfers_, [&](Transfer& one) {
    const bool is_over = link_.is_over(one.requests);
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
  write(records, mpi::Answer{task.operation.id, task.outcome.result, tag, bytes});
  is_awaited_ = is_awaited_ || task.is_awaited;
}

void Server::post() {
  if (!link_.has_records() || (!is_awaited_ && Clock::now() - oldest_ < kHeld))
    return;
  link_.post();
  is_awaited_ = false;
}

} // namespace omptool::worker
