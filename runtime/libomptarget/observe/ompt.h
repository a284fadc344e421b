// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPT: what a performance tool that libomp has loaded learns about devices, target constructs, data
// operations and launches (abi-facts.md, 10.5). No device has traces of its own.
#pragma once

#include "observe/watch.h"

#include <cstddef>
#include <cstdint>

namespace omptool::ompt {

union Data {
  std::uint64_t value;
  void* pointer;
};

enum class Kind : int {
  kTarget = 1,
  kEnterData,
  kExitData,
  kUpdate,
  kTargetNowait = 9,
  kEnterDataNowait,
  kExitDataNowait,
  kUpdateNowait,
};

enum class Operation : int { kAlloc = 1, kTo, kFrom, kDelete, kAssociate, kDisassociate };

// Asks libomp for a tool. No lock may be held: a tool may call this library while it starts.
void connect();
// The host has the number after the devices'.
void count_devices(int count);
void device_initialized(int device, const char* type, void* handle);
void devices_finished();
void image_loaded(int device, const void* image, std::size_t size);

// A target construct from its begin to its end, for the thread that this lives on.
class Construct {
public:
  // `teams` is what a region asks for; 0: as many as the device likes.
  Construct(Kind kind, int device, const void* caller, std::uint32_t teams = 1);
  ~Construct();
  Construct(const Construct&) = delete;
  Construct& operator=(const Construct&) = delete;

private:
  void tell(int endpoint);
  friend class DataOperation;
  friend class Launch;
  static thread_local Construct* innermost_ [[gnu::tls_model("initial-exec")]];
  const Kind kind_;
  const int device_;
  const void* const caller_;
  const std::uint32_t teams_;
  Construct* const outer_;
  Data* task_ = nullptr;
  Data* target_task_ = nullptr;
  Data data_{0};
  std::uint64_t id_ = 0;
};

constexpr int kHost = -2, kNowhere = -1;
struct Place {
  const void* address;
  int device; // its number, kHost or kNowhere
};

// A routine that moves or allocates memory, outside of any construct.
class Routine {
public:
  explicit Routine(const void* caller) { caller_ = caller; }
  ~Routine() { caller_ = nullptr; }
  Routine(const Routine&) = delete;
  Routine& operator=(const Routine&) = delete;

private:
  friend class DataOperation;
  static thread_local const void* caller_ [[gnu::tls_model("initial-exec")]];
};

// One operation on device memory, from its begin to its end.
class DataOperation {
public:
  DataOperation(Operation operation, Place from, Place to, std::int64_t size) : watched_(watches(kWatchTools)) {
    if (watched_) [[unlikely]]
      begin(operation, from, to, size);
  }
  ~DataOperation() {
    if (watched_) [[unlikely]]
      end();
  }
  DataOperation(const DataOperation&) = delete;
  DataOperation& operator=(const DataOperation&) = delete;
  // Where an allocation is.
  void found(const void* address) { to_.address = address; }

private:
  void begin(Operation operation, Place from, Place to, std::int64_t size);
  void end();
  void tell(int endpoint);
  const bool watched_;
  // Set by begin() alone, for nobody else pays for them.
  Operation operation_;
  Place from_, to_;
  std::size_t size_;
  std::uint64_t id_;
};

// A kernel, from its launch until it has run.
class Launch {
public:
  Launch() : watched_(watches(kWatchTools)) {
    if (watched_) [[unlikely]]
      begin();
  }
  ~Launch() {
    if (watched_) [[unlikely]]
      end();
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

private:
  void begin();
  void end();
  const bool watched_;
  std::uint64_t id_ = 0;
};

// While this lives, what the thread does with device memory is the runtime's own business.
class Private {
public:
  Private() : before_(here_) { here_ = true; }
  ~Private() { here_ = before_; }
  Private(const Private&) = delete;
  Private& operator=(const Private&) = delete;
  static bool here() { return here_; }

private:
  static thread_local bool here_ [[gnu::tls_model("initial-exec")]];
  const bool before_;
};

} // namespace omptool::ompt
