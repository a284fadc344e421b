// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crew.h"

#include "call.h"
#include "current_state.h"
#include "fault_stack.h"

#include <algorithm>
#include <exception>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace omptool::host {
namespace {

constexpr std::size_t kStackSize = 256 << 10;
constexpr std::align_val_t kMemoryAlignment{OMPTOOL_TEAM_MEMORY_ALIGNMENT};
// Most idle memory: stacks of crews that wait for a launch. Most stacks have one touched page, so this is less than 100
// MiB of RAM.
constexpr std::size_t kMostIdle = 64 << 20;

thread_local constinit Crew* current_crew __attribute__((tls_model("initial-exec"))) = nullptr;

} // namespace

Crew::~Crew() {
  for (const Slab& slab : slabs_)
    ::munmap(slab.begin, slab.size);
}

// Makes room for the stacks. Below each is a guard page.
bool Crew::make_room(std::int32_t threads, std::size_t memory) {
  const auto wanted = static_cast<std::size_t>(threads);
  const std::size_t guard = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  waiting_.resize(std::max(wanted, waiting_.size()));
  if (wanted > stacks_.size()) {
    const std::size_t each = guard + kStackSize, size = (wanted - stacks_.size()) * each;
    stacks_.reserve(wanted);
    slabs_.reserve(slabs_.size() + 1);
    void* const slab =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (slab == MAP_FAILED)
      return false;
    for (std::size_t at = 0; at < size; at += each)
      if (::mprotect(static_cast<std::byte*>(slab) + at, guard, PROT_NONE) != 0) {
        ::munmap(slab, size);
        return false;
      }
    slabs_.push_back({slab, size});
    for (std::size_t at = 0; at < size; at += each)
      stacks_.push_back(static_cast<std::byte*>(slab) + at + guard);
  }
  if (memory > memory_size_) {
    memory_size_ = 0;
    memory_ = {static_cast<std::byte*>(::operator new(memory, kMemoryAlignment, std::nothrow)),
               [](std::byte* block) { ::operator delete(block, kMemoryAlignment); }};
    if (!memory_)
      return false;
    memory_size_ = memory;
  }
  return true;
}

void Crew::run(const TeamWork& work, std::int32_t team) {
  ensure_fault_stack();
  const Current before = current; // a kernel may launch another one
  Crew* const crew_before = std::exchange(current_crew, this);
  work_ = &work;
  state_ = &current.state;
  current = {{team, work.num_teams, 0, work.num_threads, work.device, 0}, work.kernel.kernel};
  used_ = 0;
  begun_ = 0;
  next_ = end_ = come_ = 0;
  here_ = &thread_;
  thread_.is_this_thread();
  if (work.num_threads == 1)
    begin_threads();
  else
    go_on_in(unused_context());
  current_crew = crew_before;
  current = before;
}

// Runs in a context, for one team after the other. Between two teams the context may change from one thread of the
// system to another, so that nothing of a thread's own is used here.
void Crew::live(void* crew) {
  Crew& self = *static_cast<Crew*>(crew);
  self.here_->has_begun();
  for (;;) {
    self.begin_threads();
    self.go_on_in(self.next());
  }
}

// Begins the threads, one after the other, until one of them waits.
void Crew::begin_threads() {
  while (begun_ < work_->num_threads) {
    state_->thread_num = begun_++;
    omptool_host_call(work_->kernel.kernel, work_->arguments, work_->count);
  }
}

Context& Crew::unused_context() {
  if (used_ == contexts_.size()) {
    // Shift between stacks: they are a whole number of pages apart, so without a shift all their ends would share a few
    // cache lines.
    constexpr std::size_t kShift = 192, kShifts = 64;
    contexts_.emplace_back(stacks_[used_], kStackSize - used_ % kShifts * kShift, live, this);
  }
  return contexts_[used_++];
}

// Returns the context to go on in when a thread waits, or when its context has no further thread to begin.
Context& Crew::next() {
  if (begun_ < work_->num_threads)
    return unused_context();
  if (next_ == end_) { // all have come that are left
    end_ = std::exchange(come_, 0);
    next_ = 0;
    if (end_ == 0)
      return thread_;
  }
  const Waiting& waiting = waiting_[next_++];
  state_->thread_num = waiting.thread;
  return *waiting.context;
}

void Crew::go_on_in(Context& to) {
  Context& from = *here_;
  if (&from == &to)
    return;
  here_ = &to;
  from.leave_for(to);
}

void Crew::wait() {
  waiting_[come_++] = {here_, state_->thread_num};
  go_on_in(next());
}

void Crew::wait_for_team() {
  if (Crew* const crew = current_crew)
    crew->wait();
}

void* Crew::team_memory() {
  return current_crew ? current_crew->memory_.get() : nullptr;
}

std::unique_ptr<Crew> Crews::take(std::int32_t threads, std::size_t memory) {
  std::unique_ptr<Crew> crew;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      crew = std::move(idle_.back());
      idle_.pop_back();
      stacks_ -= crew->stacks();
    }
  }
  try {
    if (!crew)
      crew = std::make_unique<Crew>();
    if (crew->make_room(threads, memory))
      return crew;
  } catch (const std::exception&) {
  }
  return nullptr;
}

void Crews::give_back(std::unique_ptr<Crew> crew) {
  const std::lock_guard lock(mutex_);
  if (stacks_ + crew->stacks() > kMostIdle / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
    return; // it goes
  stacks_ += crew->stacks();
  idle_.push_back(std::move(crew));
}

} // namespace omptool::host
