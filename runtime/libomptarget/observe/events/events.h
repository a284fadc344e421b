// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events of the core: what calls do with devices. Events hold plain values, so that listeners need no query.
#pragma once

#include "host_range.h"
#include "observe/events/clock.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace omptool::observe {

enum class Abi { kInterface, kProposal, kLlvm, kRoutine };
enum class Action { kRegion, kEnterData, kExitData, kUpdate, kRoutine };

// Says where the arguments of a call begin, and their names as clang writes them (";name;file;line;column;;"), for as
// long as the call lasts. Each may be null.
struct Arguments {
  std::uint32_t count = 0;
  void* const* begin = nullptr;
  void* const* names = nullptr;
};

// A call of the program, as it made it.
struct Call {
  Abi abi = Abi::kRoutine;
  Action action = Action::kRoutine;
  const char* function = "";    // its name
  const void* code = nullptr;   // where the program calls it
  int device = -1;              // a number; -1: none
  const void* entry = nullptr;  // of a region: its host address
  const char* source = nullptr; // ";file;function;line;column;;", as clang writes it
  bool nowait = false;
  std::uint32_t teams = 1;      // that a region asks for; 0: as many as the device likes
  std::string_view region = {}; // name of a known region; valid as long as the construct
  Arguments arguments = {};
};

struct ConstructBegins {
  std::uint64_t construct; // no other has the number
  Call call;
};
struct ConstructEnds {
  std::uint64_t construct;
  Call call;
  bool failed; // the program ends, by a fault of its own
  Clock::time_point began;
  bool is_later = false; // its call had returned before
};

// An object as it was at the time.
struct ObjectSeen {
  HostRange host;
  const std::byte* device; // null: the device had no memory for it
  std::ptrdiff_t padding;  // device memory before that
  std::int64_t references, holds;
  bool infinite; // a global variable, or associated
  bool fresh;    // created by this construct
  bool leaving;  // it has no references any more

  const std::byte* at(std::uintptr_t address) const { return device + (address - host.begin); }
};

// Difference between host and device: the first bytes that differ, as numbers of `size` bytes.
struct Difference {
  std::int64_t offset;
  std::size_t size; // 1, 2, 4 or 8
  std::uint64_t host, device;
  std::string variable; // the global variable
};

// A row of a construct and what there is of it.
struct RowSeen {
  const void* base; // of a pointer's row: the pointer's address
  const void* begin;
  std::int64_t size;
  std::uint32_t flags; // RowFlag
  const void* pointer; // of a pointer's row that is mapped: its value
  std::optional<ObjectSeen> object, cell;
  bool is_map = false; // it maps memory, and is no member that its struct's row has room for
  bool is_to = false, is_from = false, is_delete = false, is_implicit = false;
  bool is_pointer = false;  // `base` is the address of a pointer
  bool is_value = false;    // the kernel's argument is `base`
  bool is_returned = false; // the program gets the device's address
  bool is_always = false;   // it is copied whatever the count
  // The difference of a global variable that the row does not copy; set only for listeners of kDifferences.
  std::optional<Difference> difference{};
};

// Rows of a construct, reported when its objects have been found or created and counted, when they have been released,
// or, for an update, when they have been found. Nothing has been copied yet.
struct RowsSeen {
  enum class Kind { kMapped, kReleased, kUpdated };
  Kind kind;
  std::uint64_t construct;
  int device;
  bool host_memory;               // the device uses the host's
  std::pmr::vector<RowSeen> rows; // a copy has memory of its own
};

// Rule broken by a row, which ends the program: the row maps more than is present, or requires an absent object.
struct RuleBroken {
  std::uint64_t construct;
  HostRange wanted;
  std::optional<HostRange> present; // a part of that
  bool is_counted;                  // constructs count its references
};

// Bytes of an object, or of memory of which none is known, are about to be copied; in pieces, where the
// object holds pointers of the device's own.
struct ObjectCopied {
  std::uint64_t construct;
  int device;
  bool to_device;
  const void* host;
  const void* there;
  std::int64_t size;
  std::optional<HostRange> object;
  std::string name;           // of a global variable
  const void* cell = nullptr; // place of the attached pointer
};

// Object asked for: a routine queries the byte at an address.
struct ObjectAsked {
  int device;
  const void* address;
  std::optional<ObjectSeen> object;
};

// An operation that a device is asked for, reported once.
struct Operation {
  enum class Kind {
    kAllocate,
    kToDevice,
    kFromDevice,
    kFree,
    kAssociate,
    kDisassociate,
    kLaunch,
    kWait,
    kJoin, // no effect: ends when the operations before it have ended
    kFill,
    kBetweenDevices
  };
  using Clock = observe::Clock;
  Kind kind;
  int device;
  const void* host;
  const void* there; // null until the memory is allocated
  std::int64_t size = 0;
  std::string_view entry = {}; // of a launch: the kernel, which lives until the operation has ended
  std::uint64_t id = 0;        // no other has it
  std::uint64_t construct = 0; // 0: it is part of none
  const void* code = nullptr;  // where the program called
  std::uint64_t queue = 0;     // one number for all operations of a queue; 0: done at once
  int from = -1;               // of kBetweenDevices: the device whose memory `host` is
  Clock::time_point began = {}, ended = {};
  bool failed = false;
  bool is_later = false;         // its call returns before it has ended, and the device reports its end
  bool shape_is_plugins = false; // of a launch: the plugin chooses teams and threads, and reports them
};
struct OperationBegins {
  Operation operation;
};
struct OperationEnds {
  Operation operation;
};

// A library, or the program itself, has registered entries.
struct LibraryRegistered {
  std::string path; // "/proc/self/exe": the program; "": no file has the descriptor
};

// A library, or the program itself, unregisters.
struct LibraryUnregistered {
  std::vector<std::string> kernels; // the names in its entry table
};

// Registered regions compiled by GCC, in a library or the program itself; libgomp runs them.
struct GccRegistered {
  std::string path; // as LibraryRegistered's
};

// Fallback of a region to the host.
struct FellBack {
  std::uint64_t construct; // 0: it did not get as far as a device
  const void* entry;
  std::string name, reason;
};

struct DeviceReady {
  int device;
  std::string plugin;
  unsigned processors; // as the plugin reports; 0: unknown
  std::string title;   // as people are shown it: the plugin's name, or of another rank's device more
  int rank = -1;       // in its MPI job, of the process that has it; -1: this process has it
  std::string node{};  // the name of that process's machine; "": this one
  int peers = 1;       // devices of the plugin, with this one
};
// All devices: the last library is going.
struct DevicesFinish {};
// Image compiled by a plugin in order to load it.
struct ImageCompiled {
  int device;
  std::size_t size; // of the compiled image
  Clock::time_point began, ended;
  bool failed; // it is not loaded
};
struct ImageLoaded {
  int device;
  const void* image;
  std::size_t size;
  std::uint64_t module;    // no other has the number
  Clock::time_point began; // of loading, and of compiling before that for bitcode
};
struct ImageUnloaded {
  int device;
  std::uint64_t module;
};
// Image function run: a constructor or destructor of an image.
struct ImageFunctionRan {
  int device;
  std::string name;
  bool failed;
};

template <typename... Kinds> struct FormsOf {
  using Heard = std::variant<const Kinds*...>;
  using Kept = std::variant<Kinds...>;
};
using Forms = FormsOf<ConstructBegins, ConstructEnds, RowsSeen, RuleBroken, ObjectCopied, ObjectAsked, OperationBegins,
                      OperationEnds, LibraryRegistered, GccRegistered, LibraryUnregistered, FellBack, DeviceReady,
                      DevicesFinish, ImageCompiled, ImageLoaded, ImageUnloaded, ImageFunctionRan>;
// An event of one of these kinds, as listeners get it: for as long as the call lasts.
using Event = Forms::Heard;
// Kept form of an event, for listeners that store it.
using KeptEvent = Forms::Kept;
inline KeptEvent kept(const Event& event) {
  return std::visit([](const auto* one) { return KeptEvent(*one); }, event);
}

// Returns the event as a `Kind`, or null if it is of another kind.
template <typename Kind> const Kind* as(const Event& event) {
  const auto* const one = std::get_if<const Kind*>(&event);
  return one ? *one : nullptr;
}
// Calls the function for the kind of the event.
template <typename Function> void dispatch(const Event& event, const Function& function) {
  std::visit([&function](const auto* one) { function(*one); }, event);
}

} // namespace omptool::observe
