// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of MPI that are used, of whichever MPI the process has: opened at run time, with no header of MPI's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace omptool::mpi {

enum class Level { kSingle, kFunneled, kSerialized, kMultiple };
const char* name_of(Level level);

// Communicator of the opened MPI, whose handles are integers or addresses.
struct Communicator {
  std::uint64_t handle = 0;
};
struct Request {
  std::uint64_t handle = 0;
  int expected = -1; // bytes that are to come; -1: of a message that is sent
};

// Arrived message: matched by a probe, and still to be received.
struct Arrived {
  int source = 0;
  std::size_t size = 0;
  std::uint64_t message = 0;
};

// Error of an MPI call: what() has the call's name and the reason.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Mpi: the functions that this plugin uses. Each throws Error if MPI reports an error. Sizes are at most kLargest.
class Mpi {
public:
  static constexpr std::size_t kLargest = std::size_t{1} << 30; // MPI counts in int

  Mpi() = default;
  virtual ~Mpi() = default;
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  virtual bool is_initialized() = 0;
  virtual bool is_finalized() = 0;
  virtual Level init(Level wanted) = 0; // the level that there is now
  virtual Level level() = 0;
  virtual bool is_main_thread() = 0; // which may call MPI at every level but MPI_THREAD_SINGLE's
  virtual void finalize() = 0;
  // Calls `then` once, at the start of the MPI_Finalize that the program calls.
  virtual void when_finalizing(std::function<void()> then) = 0;
  virtual void abort(int exit_code) = 0;

  virtual Communicator world() = 0;
  virtual int rank(Communicator communicator) = 0;
  virtual int size(Communicator communicator) = 0;
  virtual std::optional<int> application() = 0; // MPI_APPNUM
  // Returns a communicator of the ranks of one color, in their order. All ranks of the communicator call it.
  virtual Communicator split(Communicator communicator, int color) = 0;
  // Returns a communicator of these ranks, in this order. They alone call it.
  virtual Communicator of_ranks(Communicator communicator, const std::vector<int>& ranks, int tag) = 0;
  virtual void return_errors(Communicator communicator) = 0;

  virtual Request send(std::span<const std::byte> bytes, int to, int tag, Communicator communicator) = 0;
  virtual Request receive(std::span<std::byte> bytes, int from, int tag, Communicator communicator) = 0;
  // The request is then gone. Throws Error for a message of another size, too.
  virtual bool is_done(Request& request) = 0;
  // Cancels a receive, and releases the request. A message that has not begun to arrive is not written to its memory.
  virtual void cancel(Request& request) = 0;
  // Probes for a message with the tag, from any sender or from one rank.
  virtual std::optional<Arrived> probe(int tag, Communicator communicator, std::optional<int> from = {}) = 0;
  virtual void receive(std::span<std::byte> bytes, Arrived& arrived) = 0;

  // Failed ranks, as far as MPI knows them, else none. Probes then continue with the other ranks.
  virtual std::vector<int> failed(Communicator communicator) = 0;

  std::string path;         // of the library
  std::string version;      // as it calls itself
  bool is_programs = false; // the program has it, and initialises it if it likes
};

// Opens the program's own MPI, or the one that OMPTOOL_MPI names, or that of the launcher. Null, and why, where the
// process can use no MPI.
std::unique_ptr<Mpi> open(std::string& reason);

} // namespace omptool::mpi
