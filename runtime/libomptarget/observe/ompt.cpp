// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/ompt.h"

#include "process/libomp.h"

#include <mutex>
#include <vector>

namespace omptool::ompt {

constinit thread_local Construct* Construct::innermost_ = nullptr;
constinit thread_local bool Private::here_ = false;
constinit thread_local const void* Routine::caller_ = nullptr;

namespace {

enum Endpoint : int { kBegin = 1, kEnd = 2 };

using AnyFunction = void (*)();
using Lookup = AnyFunction (*)(const char* name);

// What the tool has registered with libomp; null where it has not.
struct Callbacks {
  void (*device_initialize)(int device, const char* type, void* handle, Lookup lookup, const char* documentation);
  void (*device_finalize)(int device);
  void (*device_load)(int device, const char* file, std::int64_t offset, void* in_file, std::size_t size, void* host,
                      void* there, std::uint64_t module);
  void (*target)(int kind, int endpoint, int device, Data* task, std::uint64_t id, const void* caller);
  void (*target_emi)(int kind, int endpoint, int device, Data* task, Data* target_task, Data* target,
                     const void* caller);
  void (*data_op)(std::uint64_t target, std::uint64_t id, int operation, void* from, int from_device, void* to,
                  int to_device, std::size_t size, const void* caller);
  void (*data_op_emi)(int endpoint, Data* target_task, Data* target, std::uint64_t* id, int operation, void* from,
                      int from_device, void* to, int to_device, std::size_t size, const void* caller);
  void (*submit)(std::uint64_t target, std::uint64_t id, unsigned teams);
  void (*submit_emi)(int endpoint, Data* target, std::uint64_t* id, unsigned teams);
  Data* (*task_data)();
  Data* (*target_task_data)();
};

Callbacks tool{}; // written before kWatchTools is set
std::atomic<int> initial_device{0};

// The devices that the tool knows. Never destroyed: libomp may end after this library's own statics.
struct Known {
  std::mutex mutex;
  std::vector<int> devices;
};
Known& known() {
  static Known* const all = new Known;
  return *all;
}

// ompt_start_tool_result_t, by which libomp meets this library as it meets a tool.
struct Connection {
  int (*initialize)(Lookup lookup, int initial_device, Data* data);
  void (*finalize)(Data* data);
  Data data;
};

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

template <typename Function> void look_up(Lookup lookup, const char* name, Function*& place) {
  place = reinterpret_cast<Function*>(lookup(name));
}

int initialize(Lookup lookup, int, Data*) {
  look_up(lookup, "ompt_callback_device_initialize", tool.device_initialize);
  look_up(lookup, "ompt_callback_device_finalize", tool.device_finalize);
  look_up(lookup, "ompt_callback_device_load", tool.device_load);
  look_up(lookup, "ompt_callback_target", tool.target);
  look_up(lookup, "ompt_callback_target_emi", tool.target_emi);
  look_up(lookup, "ompt_callback_target_data_op", tool.data_op);
  look_up(lookup, "ompt_callback_target_data_op_emi", tool.data_op_emi);
  look_up(lookup, "ompt_callback_target_submit", tool.submit);
  look_up(lookup, "ompt_callback_target_submit_emi", tool.submit_emi);
  look_up(lookup, "ompt_get_task_data", tool.task_data);
  look_up(lookup, "ompt_get_target_task_data", tool.target_task_data);
  watched.fetch_or(kWatchTools, std::memory_order_release);
  return 1;
}

// libomp has ended, and the tool with it.
void finalize(Data*) {
  watched.fetch_and(~kWatchTools, std::memory_order_release);
}

// Devices have no functions for tools.
AnyFunction no_function(const char*) {
  return nullptr;
}

} // namespace

void connect() {
  if (!(watched.fetch_and(~kWatchUndecided, std::memory_order_acq_rel) & kWatchUndecided))
    return;
  static Connection self{initialize, finalize, {0}};
  if (void* const libomp = find_in_libomp("ompt_libomp_connect"))
    reinterpret_cast<void (*)(Connection*)>(libomp)(&self);
}

void count_devices(int count) {
  initial_device.store(count, std::memory_order_relaxed);
}

void device_initialized(int device, const char* type, void* handle) {
  if (!watches(kWatchTools))
    return;
  {
    const std::lock_guard lock(known().mutex);
    known().devices.push_back(device);
  }
  if (tool.device_initialize)
    tool.device_initialize(device, type, handle, no_function, nullptr);
}

void devices_finished() {
  const std::lock_guard lock(known().mutex);
  for (const int device : known().devices)
    if (watches(kWatchTools) && tool.device_finalize)
      tool.device_finalize(device);
  known().devices.clear();
}

void image_loaded(int device, const void* image, std::size_t size) {
  constexpr std::int64_t kNoFile = -1;
  if (watches(kWatchTools) && tool.device_load)
    tool.device_load(device, nullptr, kNoFile, nullptr, size, const_cast<void*>(image), nullptr, next_id());
}

// ---- constructs ----

Construct::Construct(Kind kind, int device, const void* caller, std::uint32_t teams)
    : kind_(kind), device_(device), caller_(caller), teams_(teams), outer_(innermost_), id_(next_id()) {
  innermost_ = this;
  task_ = tool.task_data ? tool.task_data() : nullptr;
  target_task_ = tool.target_task_data ? tool.target_task_data() : nullptr;
  tell(kBegin);
}

Construct::~Construct() {
  tell(kEnd);
  innermost_ = outer_;
}

void Construct::tell(int endpoint) {
  if (!watches(kWatchTools))
    return;
  if (tool.target_emi)
    tool.target_emi(static_cast<int>(kind_), endpoint, device_, task_, target_task_, &data_, caller_);
  else if (tool.target)
    tool.target(static_cast<int>(kind_), endpoint, device_, task_, id_, caller_);
}

// ---- data operations ----

void DataOperation::begin(Operation operation, Place from, Place to, std::int64_t size) {
  operation_ = operation;
  const auto numbered = [](Place place) {
    return place.device == kHost ? Place{place.address, initial_device.load(std::memory_order_relaxed)} : place;
  };
  from_ = numbered(from);
  to_ = numbered(to);
  size_ = static_cast<std::size_t>(size);
  id_ = 0;
  tell(kBegin);
}

void DataOperation::end() {
  tell(kEnd);
}

void DataOperation::tell(int endpoint) {
  if (Private::here() || !watches(kWatchTools))
    return;
  Construct* const construct = Construct::innermost_;
  const void* const caller = construct ? construct->caller_ : Routine::caller_;
  void* const from = const_cast<void*>(from_.address);
  void* const to = const_cast<void*>(to_.address);
  // Without begin and end there is one event, when all that it tells is known.
  const int when = operation_ == Operation::kAlloc ? kEnd : kBegin;
  if (tool.data_op_emi)
    tool.data_op_emi(endpoint, construct ? construct->target_task_ : nullptr, construct ? &construct->data_ : nullptr,
                     &id_, static_cast<int>(operation_), from, from_.device, to, to_.device, size_, caller);
  else if (tool.data_op && endpoint == when)
    tool.data_op(construct ? construct->id_ : 0, next_id(), static_cast<int>(operation_), from, from_.device, to,
                 to_.device, size_, caller);
}

// ---- launches ----

void Launch::begin() {
  Construct* const construct = Construct::innermost_;
  if (!construct || !watches(kWatchTools))
    return;
  if (tool.submit_emi)
    tool.submit_emi(kBegin, &construct->data_, &id_, construct->teams_);
  else if (tool.submit)
    tool.submit(construct->id_, next_id(), construct->teams_);
}

void Launch::end() {
  Construct* const construct = Construct::innermost_;
  if (construct && watches(kWatchTools) && tool.submit_emi)
    tool.submit_emi(kEnd, &construct->data_, &id_, construct->teams_);
}

} // namespace omptool::ompt
