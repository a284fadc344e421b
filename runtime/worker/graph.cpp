// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph.h"

#include "mpi/transport/clock.h"
#include "process/environment.h"
#include "short_lock.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace omptool::worker {
namespace {

std::string text_of(const Buffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Calls `work` and catches its exceptions: a fault ends the operation, not the worker.
Outcome safely(const std::function<Outcome()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return Outcome::failed(1, error.what());
  }
}

} // namespace

// Graph with workers that are never destroyed: their threads wait for work until the process ends.
Graph::Graph(Backend& backend) : backend_(backend), workers_(*new Workers(environment().in_flight)) {}

void Graph::add(std::vector<TaskPtr> tasks) {
  std::vector<TaskPtr> ready;
  for (const TaskPtr& task : tasks)
    task->is_for_queue = backend_.queues().has_queue_for(task->operation);
  {
    const std::unique_lock lock = lock_shortly(mutex_);
    for (TaskPtr& task : tasks) {
      const Operation& operation = task->operation;
      if (operation.id != last_id_ + 1)
        throw mpi::Malformed("operation " + std::to_string(operation.id) + " comes after " + std::to_string(last_id_));
      last_id_ = operation.id;
      const std::uint64_t known = operation.id - std::min<std::uint64_t>(operation.id, operation.unknown);
      failed_.erase(failed_.begin(), failed_.lower_bound(known));
      task->is_awaited = true;
      for (const std::uint64_t id : operation.after) {
        if (id >= operation.id)
          throw mpi::Malformed("operation " + std::to_string(operation.id) + " is to follow " + std::to_string(id));
        if (const auto failed = failed_.find(id); failed != failed_.end())
          task->outcome = Outcome::failed(1, failed->second);
        const TaskPtr found = unfinished_.find(id);
        if (!found)
          continue;
        found->is_awaited = false;
        if (follow(*task, *found))
          continue;
        found->after.push_back(task);
        ++task->before;
      }
      unfinished_.add(operation.id, task);
      if (task->before == 0)
        ready.push_back(task);
    }
  }
  for (TaskPtr& task : ready)
    start(std::move(task));
}

void Graph::start(TaskPtr task) {
  for (std::vector<TaskPtr> ready{std::move(task)}; !ready.empty();) {
    const TaskPtr one = std::move(ready.back());
    ready.pop_back();
    if (one->operation.tag != 0) {
      one->ran.began = mpi::now();
      const std::unique_lock lock = lock_shortly(mutex_);
      give(turn_.for_mpi, one, true);
    } else if (one->is_for_queue && !one->queued && one->outcome.result == 0) {
      std::vector<TaskPtr> more = hand_over(one);
      ready.insert(ready.end(), more.begin(), more.end());
    } else {
      workers_.run([this, one] { perform(one); });
    }
  }
}

// Requires the lock. Returns true if the task can follow the other one in its queue; then it is enqueued behind it.
bool Graph::follow(Task& task, const Task& before) const {
  if (!task.is_for_queue || !before.queued || !backend_.queues().can_follow(task.operation, *before.queued))
    return false;
  task.behind.push_back(before.queued);
  task.leaders.push_back(before.operation.id);
  return true;
}

// Requires the lock. Returns true if one of the task's leaders is unfinished; then the task waits for it.
bool Graph::has_leader(const TaskPtr& task) {
  while (!task->leaders.empty()) {
    const TaskPtr found = unfinished_.find(task->leaders.back());
    task->leaders.pop_back();
    if (!found)
      continue;
    found->waits.push_back(task);
    return true;
  }
  return false;
}

// Returns those that can be handed over behind it.
std::vector<TaskPtr> Graph::hand_over(const TaskPtr& task) {
  task->ran.began = mpi::now();
  QueuedPtr queued;
  const Outcome fault = safely([&] {
    queued = backend_.queues().hand_over(task->operation, task->behind, task->outcome);
    return Outcome();
  });
  if (fault.result != 0)
    task->outcome = fault;
  std::vector<TaskPtr> ready;
  std::vector<QueuedPtr> over; // the plugin hears of it without the lock
  {
    const std::unique_lock lock = lock_shortly(mutex_);
    over.swap(task->behind);
    task->queued = queued;
    std::erase_if(task->after, [&](const TaskPtr& one) {
      const bool is_behind = follow(*one, *task);
      if (is_behind && --one->before == 0)
        ready.push_back(one);
      return is_behind;
    });
    if ((queued || task->outcome.result != 0) && has_leader(task))
      return ready;
  }
  workers_.run([this, task] { perform(task); });
  return ready;
}

// Runs the task, and then the tasks that come next on this thread, one after the other.
void Graph::perform(TaskPtr task) {
  while (task) {
    for (const QueuedPtr& one : task->behind) // it has failed, and ends behind them all the same
      one->wait();
    if (!task->queued)
      task->ran.began = mpi::now();
    if (task->queued)
      backend_.queues().await(task->operation, *task->queued, task->outcome);
    else if (task->outcome.result == 0) // nothing before it has failed
      task->outcome = safely([&] { return backend_.perform(task->operation); });
    std::fflush(stdout); // what it has printed is in the job's output before the program hears of its end
    std::vector<TaskPtr> ready = finish(task);
    task = nullptr;
    for (TaskPtr& one : ready)
      if (!task && one->operation.tag == 0 && (one->queued || !one->is_for_queue))
        task = std::move(one);
      else
        start(std::move(one));
  }
}

// Returns those that can begin now, and those that are to be waited for.
std::vector<TaskPtr> Graph::finish(const TaskPtr& task) {
  task->ran.ended = mpi::now();
  const std::unique_lock lock = lock_shortly(mutex_);
  unfinished_.remove(task->operation.id);
  std::vector<TaskPtr> ready;
  for (TaskPtr& one : std::exchange(task->waits, {})) { // each is queued behind it
    one->ran.began = std::max(one->ran.began, task->ran.ended);
    if (!has_leader(one))
      ready.push_back(std::move(one));
  }
  const bool has_failed = task->outcome.result != 0;
  if (has_failed)
    failed_.emplace(task->operation.id, text_of(task->outcome.bytes));
  for (TaskPtr& one : std::exchange(task->after, {})) {
    if (has_failed)
      one->outcome = Outcome::failed(1, failed_[task->operation.id]);
    if (--one->before == 0)
      ready.push_back(std::move(one));
  }
  give(turn_.done, task, task->is_awaited);
  return ready;
}

// Requires the lock. Passes the task to the thread that calls MPI.
void Graph::give(std::vector<TaskPtr>& to, const TaskPtr& task, bool is_awaited) {
  const bool is_first = turn_.done.empty() && turn_.for_mpi.empty();
  to.push_back(task);
  const bool is_wanted = is_awaited || to.size() == kMany;
  if (is_wanted || is_first) {
    due_.store(is_wanted ? 0 : task->ran.ended + kLeft, std::memory_order_release);
    changed_.notify_one();
  }
}

void Graph::end(const TaskPtr& task) {
  for (TaskPtr& one : finish(task))
    start(std::move(one));
}

void Graph::run(TaskPtr task, std::function<Outcome()> work, bool is_for_mpi) {
  workers_.run([this, task = std::move(task), work = std::move(work), is_for_mpi] {
    task->outcome = safely(work);
    if (!is_for_mpi) {
      end(task);
      return;
    }
    const std::unique_lock lock = lock_shortly(mutex_);
    give(turn_.for_mpi, task, true);
  });
}

Graph::Turn Graph::next(std::chrono::nanoseconds time) {
  const bool waits = time > std::chrono::nanoseconds::zero();
  const std::int64_t due = due_.load(std::memory_order_acquire);
  if (!waits && due != 0 && (due == kNever || mpi::now() < due))
    return {};
  std::unique_lock lock = lock_shortly(mutex_);
  if (waits)
    changed_.wait_for(lock, time, [&] { return !turn_.done.empty() || !turn_.for_mpi.empty(); });
  due_.store(kNever, std::memory_order_relaxed);
  return std::exchange(turn_, {});
}

bool Graph::is_idle() {
  const std::unique_lock lock = lock_shortly(mutex_);
  return unfinished_.empty() && turn_.done.empty() && turn_.for_mpi.empty();
}

} // namespace omptool::worker
