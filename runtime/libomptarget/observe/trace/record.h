// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace keeps this of an event until it is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  // The rest.
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

// A span of time, or an instant where both times are one. Numbers that an event lacks are 0.
struct Record {
  std::uint64_t began = 0, ended = 0; // nanoseconds of the monotonic clock
  std::uint64_t construct = 0;        // that it is part of, or is
  std::uint64_t host = 0;             // an address
  std::int64_t bytes = 0;
  std::uint64_t queue = 0; // 0: the thread did it itself, from begin to end
  std::uint32_t name = 0;  // of Names: a kernel, a region, a routine, a plugin
  std::uint32_t note = 0;  // of Names: a source location, or a reason
  std::uint32_t thread = 0;
  std::int32_t references = -1; // of an object; -1: they are not known
  std::int16_t device = -1;     // -1: the host
  Kind kind = Kind::kDevice;
  bool failed = false;
};

// Texts that many events have, by numbers from 1 on; 0 is no text.
class Names {
public:
  std::uint32_t number(std::string_view text) {
    if (text.empty())
      return 0;
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size() + 1));
    if (is_new)
      texts_.push_back(&at->first);
    return at->second;
  }
  // "": of 0. Lives as long as this.
  std::string_view text(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    return number == 0 ? std::string_view() : std::string_view(*texts_[number - 1]);
  }

private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

// The names that a thread has used of late, found without a lock: most are at the same place each time.
class NameCache {
public:
  std::uint32_t number(Names& names, std::string_view text) {
    if (text.empty())
      return 0;
    const auto place = reinterpret_cast<std::uintptr_t>(text.data());
    Known& known = known_[(place ^ place >> 6) % known_.size()];
    if (known.text != text) {
      known.number = names.number(text);
      known.text = names.text(known.number);
    }
    return known.number;
  }

private:
  struct Known {
    std::string_view text;
    std::uint32_t number = 0;
  };
  std::array<Known, 64> known_{};
};

} // namespace omptool::trace
