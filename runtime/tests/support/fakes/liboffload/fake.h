// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: LLVM's liboffload for plugins/liboffload without a GPU, in the form of release FAKE_RELEASE (22, 23 or 24).
// Memory of the device is the host's, and queues are threads. An image is a shared object of this CPU with a header
// that says AMD: its functions are the kernels.
//
//   FAKE_OFFLOAD_LOG=FILE      a line for each call: name, arguments, "= code"
//   FAKE_OFFLOAD_FAIL_AT=N     the N-th call that can fail does, counted from 1
//   FAKE_OFFLOAD_FAIL_ON=1     and so does every call after it
//   FAKE_OFFLOAD_FAIL_IN=name  the calls of this function only
//   FAKE_OFFLOAD_DEVICES=N     so many GPUs, not 1
//   FAKE_OFFLOAD_NAME=gfx942   another processor than gfx90a
//   FAKE_OFFLOAD_CUDA=1        GPUs of the back end for CUDA
//   FAKE_OFFLOAD_FAULT=name    this kernel faults: all that follows fails
//   FAKE_OFFLOAD_ONCE=1        a launch calls its function once, whatever its shape
//
// Wrong handles, addresses outside of any memory and the like are said on stderr as "FAKE: ...".
#pragma once

#include "ol.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake_offload {

using namespace omptool::liboffload;

enum : std::uint32_t { kSuccess = 0, kUnknown = 1, kInvalidBinary = 3, kInvalidArgument = 5, kNotFound = 6, kNull = 4 };

long number_in(const char* name, long otherwise);
void misuse(const std::string& what);
void set_fault();
bool has_fault();

// One call of the library: whether it shall fail, and its line in the log.
class Call {
public:
  template <typename... Values> explicit Call(const char* function, const Values&... values) : function_(function) {
    ((line_ << ' ' << values), ...);
  }
  bool shall_fail(); // it is asked for, or a fault has left no working device
  ol_result ends(std::uint32_t code, const std::string& details = "");

private:
  const char* function_;
  std::ostringstream line_;
};

// One lock guards what all threads see. Never destroyed: queues are threads that outlive main().
extern std::mutex& lock_of_all;
extern std::condition_variable& changed;

struct Device {
  std::uint32_t backend;
  int number;
};
struct Queue {
  Device* device = nullptr;
  bool is_ended = false, is_busy = false;
  std::deque<std::function<void()>> waiting;
};
struct Event {
  std::shared_ptr<bool> is_done;
};
struct Symbol {
  std::string name;
  bool is_kernel;
  void* address;
  std::size_t size;
};
struct Program {
  void* library = nullptr;
  std::map<std::string, Symbol> symbols;
};

std::vector<Device>& devices();  // the last is the host
extern std::set<void*>& handles; // of queues, events, programs and contexts; under the lock
void add_handle(void* handle);
bool has_handle(void* handle, const char* what);
void remove_handle(void* handle);

bool is_memory(const void* at, std::size_t size); // of the device, or a program's variable
void add_work(Queue& queue, std::function<void()> work);
void wait_for(Queue& queue);

} // namespace fake_offload

// The body of an exported function: FAKE_CALL(call, olSyncQueue, queue); ... return call.ends(kSuccess);
#define FAKE_CALL(call, function, ...)                                                                                 \
  ::fake_offload::Call call(#function __VA_OPT__(, ) __VA_ARGS__);                                                     \
  if (call.shall_fail())                                                                                               \
  return call.ends(::fake_offload::kUnknown, "FAKE failure")
