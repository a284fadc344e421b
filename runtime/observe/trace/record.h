// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace keeps this of an event until it is written.
#pragma once

#include "output/names.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace omptool::trace {

enum class Kind : std::uint8_t {
  // Constructs and routines, in the order of observe::Action.
  kRegion,
  kEnterData,
  kExitData,
  kUpdate,
  kRoutine,
  // Operations, in the order of observe::Operation::Kind.
  kAllocate,
  kToDevice,
  kFromDevice,
  kFree,
  kAssociate,
  kDisassociate,
  kLaunch,
  kWait,
  kJoin,
  kFill,
  kBetweenDevices,
  // Other kinds of records.
  kCompile,
  kLoad,
  kMapped,
  kReleased,
  kFallback,
  kDevice
};
constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::kDevice) + 1;
constexpr std::array<std::string_view, kKinds> kNames{"target",
                                                      "target enter data",
                                                      "target exit data",
                                                      "target update",
                                                      "routine",
                                                      "allocate",
                                                      "copy to device",
                                                      "copy to host",
                                                      "free",
                                                      "associate",
                                                      "disassociate",
                                                      "kernel",
                                                      "wait",
                                                      "join",
                                                      "fill",
                                                      "copy between",
                                                      "compile image",
                                                      "load image",
                                                      "map",
                                                      "unmap",
                                                      "fallback",
                                                      "device"};

// Record of a span of time, or of an instant if both times are equal. Numbers that an event lacks are 0.
struct Record {
  std::uint64_t began = 0, ended = 0; // nanoseconds of the monotonic clock
  std::uint64_t construct = 0;        // that it is part of, or is
  std::int64_t bytes = 0;
  std::uint64_t place = 0; // see host() and queue()
  std::uint32_t name = 0;  // of Names: a kernel, a region, a routine, a device's title
  std::uint32_t note = 0;  // of Names: a source location, a reason, or a device's node
  std::uint32_t thread = 0;
  union {
    std::int32_t references = -1; // of an object; -1: unknown
    std::int32_t rank;            // of kDevice: that has the device; -1: none
  };
  std::int16_t device = -1; // -1: the host
  Kind kind = Kind::kDevice;
  bool failed = false;

  bool is_of_object() const { return kind == Kind::kMapped || kind == Kind::kReleased; }
  // Host address of the object.
  std::uint64_t host() const { return is_of_object() ? place : 0; }
  // Queue of the operation. 0: the thread waited for it, from begin to end.
  std::uint64_t queue() const { return is_of_object() ? 0 : place; }
};
static_assert(sizeof(Record) == 64); // a cache line, which moves from the thread's cache to the writer's

using observe::NameCache;
using observe::Names;

} // namespace omptool::trace
