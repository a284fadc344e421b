// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of messages between the program and a worker. A message is records, each with its size; a record is
// numbers and runs of bytes, all aligned to 8. Both sides are of one version and one machine: nothing is converted.
// Reader checks what arrives: it throws Malformed, which names the fault, and reads nothing beyond its bytes.
#pragma once

#include "omptarget_rtl.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace omptool::mpi {

using Buffer = std::vector<std::byte>;
using View = std::span<const std::byte>;

struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Writer {
public:
  explicit Writer(Buffer& to) : to_(to) {}
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void bytes(View bytes); // with their number
  void text(std::string_view text) { bytes(std::as_bytes(std::span(text))); }
  void raw(const void* begin, std::size_t size); // padded

private:
  Buffer& to_;
};

class Reader {
public:
  explicit Reader(View bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  std::uint64_t number(const char* what) {
    return *static_cast<const std::uint64_t*>(raw(sizeof(std::uint64_t), what));
  }
  // A number that is not larger than `most`.
  std::uint64_t number_up_to(std::uint64_t most, const char* what);
  // Reads the count of the elements that follow, each of at least `each` bytes.
  std::size_t count(std::size_t each, const char* what);
  View bytes(const char* what);
  std::string text(const char* what);
  const void* raw(std::size_t size, const char* what); // aligned to 8
  void end(const char* what) const;                    // nothing is left

private:
  View rest_; // begins aligned to 8
};

// ---- operations ----

// Kind of a request to a worker.
enum class Kind : std::uint32_t {
  kJoin,     // nothing
  kSubmit,   // `bytes` to `target`, or `size` bytes that come with the tag, from rank `value`
  kGive,     // `size` bytes from `source` to rank `value`, with the tag
  kRetrieve, // `size` bytes from `source`: with the answer, or with the tag
  kFill,     // `size` bytes from `target` on, with `value`
  kCopy,     // `size` bytes from `source` of device `value` of the worker to `target`
  kRun,      // the function at `target`
  kStart,    // initialises the device
  kAllocate, // `size` bytes: the answer has the address
  kRelease,  // the memory at `target`
  kImage,    // image number `target`, of `size` bytes, which come with the tag
  kLoad,     // image number `source` for entries in `bytes`, as loaded image number `target`: the answer has a table
  kUnload,   // loaded image number `target`
  kGoodbye,  // the program needs nothing more. `value` 1: a worker is lost, and MPI_Finalize would wait for it
  // Kinds without an operation, and without an id:
  kPing,   // a sign of life, which the worker answers at once
  kForget, // rank `value` is lost: no bytes come from it, and none go to it
};
constexpr auto kLastKind = static_cast<std::uint32_t>(Kind::kForget);
constexpr bool is_operation(Kind kind) {
  return kind != Kind::kPing && kind != Kind::kForget;
}

struct Operation {
  Kind kind = Kind::kJoin;
  std::int32_t device = 0; // the worker's number for it
  std::uint64_t id = 0;    // counts up
  std::uint64_t target = 0, source = 0, size = 0;
  std::int32_t value = 0;
  std::int32_t tag = 0; // of messages with the bytes; 0: there are none
  bool has_shape = false;
  std::uint32_t unknown = 0;   // the program knows how all operations before the last `unknown` before this one ended
  tgt_launch_shape shape = {}; // of kRun
  std::span<const std::uint64_t> after = {};     // ids
  std::span<const std::uint64_t> arguments = {}; // of kRun
  View bytes = {};
};
void write(Buffer& message, const Operation& operation);
// Reads an operation, whose spans point into the message.
Operation read_operation(Reader& message);

// Span of time in nanoseconds of a process's CLOCK_MONOTONIC.
struct Span {
  std::int64_t began = 0, ended = 0;
};
constexpr std::int64_t kLatest = std::int64_t{1} << 62; // that a span ends: 146 years

struct Answer {
  std::uint64_t id = 0;    // 0: a sign of life, or the worker's last message, if the result is not 0
  std::int32_t result = 0; // as the plugin's function returned it
  std::int32_t tag = 0;    // of messages with the bytes; 0: there are none
  View bytes = {};         // of the answer; the reason, if the result is not 0
  Span ran = {};           // by the worker's clock
};
void write(Buffer& message, const Answer& answer);
Answer read_answer(Reader& message);

// ---- greetings ----

// A device of a worker, as its plugin describes it.
struct DeviceOfWorker {
  std::string plugin;
  tgt_device_description description = {};
  bool makes_teams = false; // kernels_make_teams
};

// Greeting: the first message, from a worker to its program.
struct Greeting {
  std::string version;      // of omptool
  std::vector<int> workers; // the ranks of all workers that the program has
  std::vector<DeviceOfWorker> devices;
  std::string fault; // why the worker does not serve, or ""
  std::string node;  // its machine
};
Buffer written(const Greeting& greeting);
Greeting read_greeting(View message);

constexpr std::uint64_t kLongestHeartbeat = 1'000'000; // seconds

// Welcome: the program's answer to all greetings. The program and its workers then make their communicator.
struct Welcome {
  std::uint64_t heartbeat = 0; // in seconds: a longer silence is a loss; 0: none is
};
Buffer written(const Welcome& welcome);
Welcome read_welcome(View message);

// ---- entries of images ----

struct Entry {
  std::string name;
  std::uint64_t address = 0; // of the host's variable or function
  std::int64_t size = 0;
  std::int64_t extent = 0; // see __tgt_rtl_load_indirect
};
Buffer written(const std::vector<Entry>& entries);
std::vector<Entry> read_entries(View bytes);

struct Loaded {
  std::uint64_t address = 0; // 0: the image lacks the entry
  std::int64_t size = 0;
  std::uint64_t takes_shape = 0; // 1: see __tgt_rtl_takes_shape
};
Buffer written(const std::vector<Loaded>& table);
std::vector<Loaded> read_table(View bytes);

} // namespace omptool::mpi
