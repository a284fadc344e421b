// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation of the asynchronous functions, and the chain of them that a stream runs.
#pragma once

#include "common/events.h"
#include "device.h"
#include "gather.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace omptool::cuda {

struct Chain;
using Lock = plugin::Events::Lock;
using MarkPtrs = std::vector<MarkPtr>;

// Operation of the queue. The events' lock guards all fields but `work`.
struct Operation : plugin::Event {
  enum class State : std::uint8_t { kKept, kGiven };
  // Small copies, which may share a transfer with their neighbours: to the device, or from it.
  enum class Small : std::uint8_t { kNo, kIn, kOut };
  // Work: hands the operation to the driver. Returns 0, or a failure with last_error set; then the operation does not
  // run.
  using Work = std::function<std::int32_t(CUstream, CUdeviceptr& lent)>;

  const char* what = "";          // kind of a copy, with its size
  std::size_t size = 0;           //
  const Kernel* kernel = nullptr; // of a launch
  bool is_long = false;           // the driver returns from it only when earlier commands have ended
  bool only_reads = false;        // the host's memory, which nothing before it in its stream has written
  Small small = Small::kNo;
  Piece piece; // of a small copy
  Work work;   // until then; empty where it only joins others

  State state = State::kKept; // until it is done
  std::shared_ptr<Chain> chain;
  std::vector<std::shared_ptr<Operation>> before; // until it is done
  MarkPtr mark;                                   // behind it, where others wait for it
  std::shared_ptr<Gather> gather;                 // that it is part of
  CUdeviceptr lent = 0;

  bool is_kept() const { return !is_done && state == State::kKept; }
  bool is_given() const { return !is_done && state == State::kGiven; }
};
// Returns a name such as "kernel saxpy" or "a copy to the GPU of 8 bytes".
std::string name_of(const Operation& operation);
using OperationPtr = std::shared_ptr<Operation>;

// `move(stream)` hands it to the driver.
using Move = std::function<Outcome(CUstream)>;
OperationPtr move_operation(const Context& context, const char* what, std::size_t size, Move move);
// Sets the operation to a copy between host and device, which needs more fields than other operations.
void set_copy_in(Operation& operation, Device& device, void* target, const void* host);
void set_copy_out(Operation& operation, Device& device, void* host, const void* source);

// Chain of operations in one stream. The stream returns to the device when no thread can append any more.
struct Chain {
  // User: the thread that enqueues in the chain. kNone; kBrief for an operation that is ready; kLong for one that waits
  // for earlier operations.
  enum class User : std::uint8_t { kNone, kBrief, kLong };

  explicit Chain(Device& its_device) : device(its_device) {}
  ~Chain() {
    if (stream && !is_broken)
      device.streams().give_back(stream);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // Makes the chain's stream wait for the marks of others. Called in the chain's turn, without the lock.
  std::int32_t wait_for(const MarkPtrs& marks, const Operation& operation);

  Device& device;
  CUstream stream = nullptr; // once it is needed; written by its user
  bool is_broken = false;    // a wait for it has failed
  bool is_noted = false;     // as one that has something to do
  bool has_begun = false;    // since it was idle, more than copies to the device was submitted
  User user = User::kNone;
  std::shared_ptr<Gather> gather; // that the driver has not got yet; written by its user
  std::deque<OperationPtr> going; // submitted, not done
  std::deque<OperationPtr> kept;  // behind them, not submitted yet
};

} // namespace omptool::cuda
