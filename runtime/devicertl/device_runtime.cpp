// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenMP's device runtime for a CPU: the functions that flang's device code calls on every target. Barriers, critical,
// single, tasks and the other queries are libomp's own.
#include "libomp.h"
#include "loops.h"
#include "team.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <utility>

#define DEVICERTL_EXPORT extern "C" [[gnu::visibility("protected")]]

// Exported for the host plugin, which looks up both when it loads the image (plugins/host/kernels/thread_state.h).
DEVICERTL_EXPORT const omptool_thread_state* (*__omptool_thread_state)();
const omptool_thread_state* (*__omptool_thread_state)() = nullptr;
DEVICERTL_EXPORT const std::int32_t __omptool_device_runtime;
const std::int32_t __omptool_device_runtime = 1;

namespace omptool::devicertl {
namespace {

// A parallel region, as its threads get it.
struct Parallel {
  void* body;
  void* const* arguments;
  std::int64_t count;
  Team team;
};

// flang passes one argument, the address of a struct.
constexpr std::int64_t kMostArguments = 4;
void call_body(const Parallel& region, std::int32_t* gtid, std::int32_t* bound_tid) {
  void* const* const arguments = region.arguments;
  const auto call = [&](auto... argument) {
    reinterpret_cast<void (*)(std::int32_t*, std::int32_t*, decltype(argument)...)>(region.body)(gtid, bound_tid,
                                                                                                 argument...);
  };
  switch (region.count) {
  case 0:
    return call();
  case 1:
    return call(arguments[0]);
  case 2:
    return call(arguments[0], arguments[1]);
  case 3:
    return call(arguments[0], arguments[1], arguments[2]);
  default:
    return call(arguments[0], arguments[1], arguments[2], arguments[3]);
  }
}

void run_thread(std::int32_t* gtid, std::int32_t* bound_tid, const Parallel* region) {
  const Team before = std::exchange(current, region->team);
  call_body(*region, gtid, bound_tid);
  current = before;
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_arguments(std::int64_t count) {
  ::dprintf(STDERR_FILENO,
            "omptarget: a parallel region in a kernel has %lld arguments; the device runtime passes 0 to %lld\n",
            static_cast<long long>(count), static_cast<long long>(kMostArguments));
  std::abort();
}

// Shared block of __kmpc_alloc_shared. Flang 24 may free a block in each iteration of a loop although it allocated it
// once in front of the loop, so the blocks of a kernel's own thread stay until the kernel ends.
struct alignas(16) SharedBlock {
  SharedBlock* next;
  bool is_kernels;
};
thread_local bool runs_kernel = false;
thread_local SharedBlock* shared_blocks = nullptr;

void free_shared_blocks() {
  while (SharedBlock* const block = shared_blocks) {
    shared_blocks = block->next;
    std::free(block);
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_shared(std::uint64_t size) {
  ::dprintf(STDERR_FILENO, "omptarget: there is no memory for %llu bytes of variables that a team's threads share\n",
            static_cast<unsigned long long>(size));
  std::abort();
}

// Flushes standard output of Fortran's runtime in the image, which has a buffer of its own.
void flush_output() {
  constexpr std::int32_t kStandardOutput = 6;
  if (_FortranAioBeginFlush && _FortranAioEndIoStatement)
    _FortranAioEndIoStatement(_FortranAioBeginFlush(kStandardOutput, nullptr, 0));
}

// Return what a loop is shared among. Outside of a kernel that calls __kmpc_target_init there is one team.
template <typename Count> Sharer<Count> teams(Count block) {
  return {static_cast<Count>(std::max(current.count, 1)), static_cast<Count>(current.number), block};
}
template <typename Count> Sharer<Count> threads(Count all, Count block) {
  return {std::max<Count>(all, 1), static_cast<Count>(omp_get_thread_num()), block};
}

constinit LibompsQuery libomps_team_num("omp_get_team_num", 0);
constinit LibompsQuery libomps_num_teams("omp_get_num_teams", 1);
constinit LibompsQuery libomps_thread_limit("omp_get_thread_limit", 0);

} // namespace
} // namespace omptool::devicertl

using namespace omptool::devicertl;

extern "C" {

// ---- kernels ----

// Returns -1: the calling thread runs the kernel.
std::int32_t __kmpc_target_init(void*, void*) {
  runs_kernel = true;
  current = {0, 1, 0};
  if (__omptool_thread_state) {
    const omptool_thread_state& state = *__omptool_thread_state();
    current = {state.team_num, state.num_teams, state.thread_limit};
  }
  return -1;
}

void __kmpc_target_deinit() {
  runs_kernel = false;
  free_shared_blocks();
  current = {};
  flush_output();
}

// ---- parallel regions ----

void __kmpc_parallel_60(ident_t* where, std::int32_t, std::int32_t condition, std::int32_t num_threads,
                        std::int32_t bind, void* body, void*, void** arguments, std::int64_t count, std::int32_t) {
  if (count < 0 || count > kMostArguments)
    refuse_arguments(count);
  std::int32_t gtid = __kmpc_global_thread_num(where), bound_tid = 0;
  const Parallel region{body, arguments, count, current};
  const std::int32_t wanted = condition ? threads_for(num_threads) : 1;
  if (wanted == 1) {
    __kmpc_serialized_parallel(where, gtid);
    run_thread(&gtid, &bound_tid, &region);
    __kmpc_end_serialized_parallel(where, gtid);
    return;
  }
  if (wanted > 0)
    __kmpc_push_num_threads(where, gtid, wanted);
  if (bind >= 0)
    __kmpc_push_proc_bind(where, gtid, bind);
  __kmpc_fork_call(where, 1, reinterpret_cast<kmpc_micro>(run_thread), &region);
}

// ---- loops ----

#define DEVICERTL_LOOPS(NAME, COUNT)                                                                                   \
  void __kmpc_distribute_for_static_loop_##NAME(ident_t*, void (*body)(COUNT, void*), void* argument, COUNT count,     \
                                                COUNT num_threads, COUNT block, COUNT chunk, std::uint8_t) {           \
    share_loop(body, argument, count, teams(block), threads(num_threads, chunk));                                      \
  }                                                                                                                    \
  void __kmpc_distribute_static_loop_##NAME(ident_t*, void (*body)(COUNT, void*), void* argument, COUNT count,         \
                                            COUNT block, std::uint8_t) {                                               \
    share_loop(body, argument, count, teams(block), {1, 0, 0});                                                        \
  }                                                                                                                    \
  /* With a barrier at the end, which flang leaves to it. */                                                           \
  void __kmpc_for_static_loop_##NAME(ident_t* where, void (*body)(COUNT, void*), void* argument, COUNT count,          \
                                     COUNT num_threads, COUNT chunk, std::uint8_t) {                                   \
    share_loop(body, argument, count, {1, 0, 0}, threads(num_threads, chunk));                                         \
    __kmpc_barrier(where, __kmpc_global_thread_num(where));                                                            \
  }
DEVICERTL_LOOPS(4u, std::uint32_t)
DEVICERTL_LOOPS(8u, std::uint64_t)

// ---- reductions ----

// Reduces by adding each thread's part, one after the other. libomp's own reduction does not lock in a team of one
// thread, and so would let several teams in at once.
std::int32_t __kmpc_reduce_nowait(ident_t* where, std::int32_t gtid, std::int32_t, std::int64_t, void*,
                                  void (*)(void*, void*), void* lock) {
  __kmpc_critical(where, gtid, lock);
  return 1;
}
void __kmpc_end_reduce_nowait(ident_t* where, std::int32_t gtid, void* lock) {
  __kmpc_end_critical(where, gtid, lock);
}
std::int32_t __kmpc_reduce(ident_t* where, std::int32_t gtid, std::int32_t, std::int64_t, void*, void (*)(void*, void*),
                           void* lock) {
  __kmpc_critical(where, gtid, lock);
  return 1;
}
void __kmpc_end_reduce(ident_t* where, std::int32_t gtid, void* lock) {
  __kmpc_end_critical(where, gtid, lock);
  __kmpc_barrier(where, gtid);
}

// ---- variables that the threads of a team share, since flang 24 ----

void* __kmpc_alloc_shared(std::uint64_t size) {
  auto* const block = static_cast<SharedBlock*>(std::malloc(sizeof(SharedBlock) + size));
  if (!block)
    refuse_shared(size);
  block->is_kernels = runs_kernel;
  if (runs_kernel)
    block->next = std::exchange(shared_blocks, block);
  return block + 1;
}
void __kmpc_free_shared(void* memory, std::uint64_t) {
  SharedBlock* const block = memory ? static_cast<SharedBlock*>(memory) - 1 : nullptr;
  if (block && !block->is_kernels)
    std::free(block);
}
// Called by wrappers of parallel regions, which GPU threads need. On a CPU the threads call the regions themselves.
void __kmpc_get_shared_variables(void***) {
  ::dprintf(STDERR_FILENO, "omptarget: the device runtime for CPUs calls no wrapper of a parallel region\n");
  std::abort();
}

// ---- queries ----

int omp_is_initial_device() {
  return 0;
}
int omp_get_device_num() {
  return __omptool_thread_state ? __omptool_thread_state()->device_num : 0;
}
int omp_get_team_num() {
  return current.count > 0 ? current.number : libomps_team_num();
}
int omp_get_num_teams() {
  return current.count > 0 ? current.count : libomps_num_teams();
}
int omp_get_thread_limit() {
  return current.thread_limit > 0 ? current.thread_limit : libomps_thread_limit();
}
}
