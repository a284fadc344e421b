// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of one team, which wait for each other and share memory: contexts of one thread of the system
// (DECISIONS.md, 22). The team runs on that thread from its first thread's begin to its last one's end.
#pragma once

#include "context.h"
#include "thread_state.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool::host {

// A kernel of an image's list. Its address in the plugin's table is that of its record, marked, so that launches of
// all other kernels need not look for it.
struct TeamKernel {
  void* kernel;
  std::size_t memory;

  // Mark bit: set in no address of a process, and the bit below it is clear.
  static constexpr std::uintptr_t kMark = std::uintptr_t{1} << 63;
  void* handle() const { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(this) | kMark); }
  static const TeamKernel* of(void* handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    return value >> 62 == 2 ? reinterpret_cast<const TeamKernel*>(value & ~kMark) : nullptr;
  }
};

// The work of all teams of a launch.
struct TeamWork {
  TeamKernel kernel;
  void* const* arguments; // room for kRegisterArguments
  std::size_t count;
  std::int32_t num_teams;
  std::int32_t num_threads;
  std::int32_t device;
};

class Crew {
public:
  Crew() = default;
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Makes room for the stacks and memory of a team. Returns false if the system has none.
  bool make_room(std::int32_t threads, std::size_t memory);
  // Returns when all threads of the team have left the kernel.
  void run(const TeamWork& work, std::int32_t team);

  std::size_t stacks() const { return stacks_.size(); }

  // Functions that images call. They act on the team that the calling thread runs, if any.
  static void wait_for_team();
  static void* team_memory();

private:
  struct Waiting {
    Context* context;
    std::int32_t thread;
  };
  struct Slab {
    void* begin;
    std::size_t size;
  };

  static void live(void* crew);
  void begin_threads();
  Context& unused_context();
  Context& next();
  void go_on_in(Context& to);
  void wait();

  std::vector<Slab> slabs_; // of stacks
  std::vector<std::byte*> stacks_;
  std::deque<Context> contexts_; // one for each stack that has been used
  std::unique_ptr<std::byte, void (*)(std::byte*)> memory_{nullptr, nullptr};
  std::size_t memory_size_ = 0;

  // The team that runs.
  const TeamWork* work_ = nullptr;
  omptool_thread_state* state_ = nullptr; // of the system's thread
  Context thread_;                        // the one of the system
  Context* here_ = nullptr;
  std::size_t used_ = 0; // contexts
  std::int32_t begun_ = 0;
  // Waiting threads in the order of their arrival. Threads in [next_, end_) still have to pass the earlier barrier;
  // threads behind them arrive at the next one, from the start again.
  std::vector<Waiting> waiting_;
  std::size_t next_ = 0, end_ = 0, come_ = 0;
};

// Crews that no launch uses.
class Crews {
public:
  std::unique_ptr<Crew> take(std::int32_t threads, std::size_t memory); // null if the system has no memory
  void give_back(std::unique_ptr<Crew> crew);

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Crew>> idle_;
  std::size_t stacks_ = 0; // of those
};

} // namespace omptool::host
