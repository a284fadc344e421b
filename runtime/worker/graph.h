// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs operations when those that they follow are done, each on a thread of a pool. The first that was waiting for an
// operation runs on the same thread after it. Copies whose bytes travel alone are for the thread that calls MPI.
//
// An operation of a device with a queue goes there as soon as all that it follows are done, or are in that queue, too.
// A thread of the pool then waits for its end.
#pragma once

#include "backend.h"
#include "mpi/transport/numbered.h"
#include "workers.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool::worker {

struct Task {
  Operation operation; // whose spans are parts of the message
  std::shared_ptr<const Buffer> message;
  Outcome outcome = {};
  Buffer bytes = {};       // of a copy whose bytes travel alone, where they are not the device's own
  mpi::Span ran = {};      // by this process's clock; the end is set when it is done
  bool is_awaited = false; // nothing that came with it follows it: the program may be waiting
  // Guarded by the lock of the graph.
  std::size_t before = 0; // tasks that it follows and that are not done
  std::vector<std::shared_ptr<Task>> after = {};
  bool is_for_queue = false;
  QueuedPtr queued = nullptr;                    // once it is
  std::vector<QueuedPtr> behind = {};            // those that it follows and that are, until it is
  std::vector<std::uint64_t> leaders = {};       // these, by number: it ends when they have ended
  std::vector<std::shared_ptr<Task>> waits = {}; // tasks behind this one; its waiters wait for them, too
};
using TaskPtr = std::shared_ptr<Task>;

class Graph {
public:
  explicit Graph(Backend& backend);

  // Takes the operations of one message, in their order. Throws mpi::Malformed.
  void add(std::vector<TaskPtr> tasks);
  // Turn of the thread that calls MPI: finished tasks, and tasks whose bytes travel alone and whose turn it is. Waits
  // at most the given time for one. With a time of zero it holds back tasks that the program does not wait for, so that
  // others can join them.
  struct Turn {
    std::vector<TaskPtr> done, for_mpi;
  };
  Turn next(std::chrono::nanoseconds time);
  // Runs `work` on a thread, and then ends the task with what it returns; or, where it is_for_mpi, gives it back to the
  // thread that calls MPI.
  void run(TaskPtr task, std::function<Outcome()> work, bool is_for_mpi = false);
  void end(const TaskPtr& task);
  bool is_idle();

private:
  static constexpr std::size_t kMany = 128; // tasks added while others run
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr std::int64_t kLeft = 1'000'000; // ns that a task without a waiter is held back

  void start(TaskPtr task); // without the lock
  std::vector<TaskPtr> hand_over(const TaskPtr& task);
  bool follow(Task& task, const Task& before) const;
  bool has_leader(const TaskPtr& task);
  void perform(TaskPtr task);
  void give(std::vector<TaskPtr>& to, const TaskPtr& task, bool is_awaited);
  std::vector<TaskPtr> finish(const TaskPtr& task);

  Backend& backend_;
  std::mutex mutex_; // the members below
  std::condition_variable changed_;
  mpi::Numbered<Task> unfinished_;
  std::map<std::uint64_t, std::string> failed_; // why; those that the program may yet have others follow
  std::uint64_t last_id_ = 0;
  Turn turn_;
  std::atomic<std::int64_t> due_{kNever}; // by this process's clock, the turn is; written with the lock held
  Workers& workers_;
};

} // namespace omptool::worker
