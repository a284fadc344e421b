// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/ompt.h"

#include "observe/sink.h"
#include "process/libomp.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool::ompt {
namespace {

using observe::Action;
using observe::Call;
using observe::Operation;

enum Endpoint : int { kBegin = 1, kEnd = 2 };

union Data {
  std::uint64_t value;
  void* pointer;
};

using AnyFunction = void (*)();
using Lookup = AnyFunction (*)(const char* name);

// Callbacks that the tool has registered with libomp; null where it has registered none.
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

Callbacks tool{}; // written before the listener subscribes

// ompt_start_tool_result_t, by which libomp meets this library as it meets a tool.
struct Connection {
  int (*initialize)(Lookup lookup, int initial_device, Data* data);
  void (*finalize)(Data* data);
  Data data;
};

// ompt_target_t: the construct's own number, and from 9 on with nowait.
int kind_of(const Call& call) {
  constexpr int kNowait = 8;
  return static_cast<int>(call.action) + 1 + (call.nowait ? kNowait : 0);
}
static_assert(static_cast<int>(Action::kRegion) == 0 && static_cast<int>(Action::kUpdate) == 3);

// ompt_target_data_op_t, and where it moves to and from.
struct DataOperation {
  int kind;
  void* from;
  int from_device;
  void* to;
  int to_device;
};

DataOperation data_operation(const Operation& operation) {
  constexpr int kNowhere = -1;
  const int host_number = observe::host_number.load(std::memory_order_relaxed);
  void* const host = const_cast<void*>(operation.host);
  void* const there = const_cast<void*>(operation.there);
  switch (operation.kind) {
  case Operation::Kind::kAllocate:
    return {1, host, host_number, there, operation.device};
  case Operation::Kind::kToDevice:
  case Operation::Kind::kFill:
    return {2, host, host_number, there, operation.device};
  case Operation::Kind::kBetweenDevices:
    return {2, host, operation.from, there, operation.device};
  case Operation::Kind::kFromDevice:
    return {3, there, operation.device, host, host_number};
  case Operation::Kind::kFree:
    return {4, there, operation.device, nullptr, kNowhere};
  case Operation::Kind::kAssociate:
    return {5, host, host_number, there, operation.device};
  case Operation::Kind::kDisassociate:
    return {6, host, host_number, there, operation.device};
  case Operation::Kind::kLaunch:
  case Operation::Kind::kWait:
  case Operation::Kind::kJoin:
    break;
  }
  return {0, nullptr, kNowhere, nullptr, kNowhere};
}

// The tool's data of a construct, from its begin to its end.
struct Construct {
  Call call;
  Data* task = tool.task_data ? tool.task_data() : nullptr;
  Data* target_task = tool.target_task_data ? tool.target_task_data() : nullptr;
  Data data{0};
};

class Tool : public observe::Listener {
public:
  void hear(const observe::Event& event) override {
    if (attached_.load(std::memory_order_acquire))
      std::visit([this](const auto& one) { on(one); }, event);
  }
  void attach() {
    attached_.store(true, std::memory_order_release);
    observe::subscribe(*this);
  }
  // libomp has ended, and the tool with it.
  void detach() {
    attached_.store(false, std::memory_order_release);
    observe::unsubscribe(*this);
  }

private:
  void on(const observe::ConstructBegins& event) {
    if (event.call.action == Action::kRoutine)
      return;
    Construct* const construct = keep(event);
    tell(event.construct, *construct, kBegin);
  }
  void on(const observe::ConstructEnds& event) {
    Construct* const construct = find(event.construct);
    if (!construct)
      return;
    tell(event.construct, *construct, kEnd);
    const std::lock_guard lock(mutex_);
    constructs_.erase(event.construct);
  }
  void on(const observe::OperationBegins& event) { tell(event.operation, kBegin); }
  void on(const observe::OperationEnds& event) {
    tell(event.operation, kEnd);
    const std::lock_guard lock(mutex_);
    operations_.erase(event.operation.id);
  }
  void on(const observe::DeviceReady& event) {
    {
      const std::lock_guard lock(mutex_);
      devices_.push_back(event.device);
    }
    const auto no_function = [](const char*) -> AnyFunction { return nullptr; };
    if (tool.device_initialize)
      tool.device_initialize(event.device, event.plugin.c_str(), const_cast<void*>(event.handle), no_function, nullptr);
  }
  void on(const observe::DevicesFinish&) {
    std::vector<int> devices;
    {
      const std::lock_guard lock(mutex_);
      devices.swap(devices_);
    }
    for (const int device : devices)
      if (tool.device_finalize)
        tool.device_finalize(device);
  }
  void on(const observe::ImageLoaded& event) {
    constexpr std::int64_t kNoFile = -1;
    static std::atomic<std::uint64_t> modules{0};
    if (tool.device_load)
      tool.device_load(event.device, nullptr, kNoFile, nullptr, event.size, const_cast<void*>(event.image), nullptr,
                       ++modules);
  }
  template <typename Other> void on(const Other&) {} // there is no callback for it

  static void tell(std::uint64_t number, Construct& construct, Endpoint endpoint) {
    const Call& call = construct.call;
    if (tool.target_emi)
      tool.target_emi(kind_of(call), endpoint, call.device, construct.task, construct.target_task, &construct.data,
                      call.code);
    else if (tool.target)
      tool.target(kind_of(call), endpoint, call.device, construct.task, number, call.code);
  }

  // There is no callback for the others.
  void tell(const Operation& operation, Endpoint endpoint) {
    if (operation.kind == Operation::Kind::kLaunch)
      tell_launch(operation, endpoint);
    else if (operation.kind != Operation::Kind::kWait && operation.kind != Operation::Kind::kJoin)
      tell_data(operation, endpoint);
  }

  // Without begin and end there is one callback, when all that it tells is known.
  void tell_data(const Operation& operation, Endpoint endpoint) {
    Construct* const construct = find(operation.construct);
    const DataOperation reported = data_operation(operation);
    const std::size_t size = static_cast<std::size_t>(operation.size);
    const Endpoint when = operation.kind == Operation::Kind::kAllocate ? kEnd : kBegin;
    if (tool.data_op_emi)
      tool.data_op_emi(endpoint, construct ? construct->target_task : nullptr, construct ? &construct->data : nullptr,
                       id_of(operation), reported.kind, reported.from, reported.from_device, reported.to,
                       reported.to_device, size, operation.code);
    else if (tool.data_op && endpoint == when)
      tool.data_op(construct ? operation.construct : 0, operation.id, reported.kind, reported.from,
                   reported.from_device, reported.to, reported.to_device, size, operation.code);
  }

  void tell_launch(const Operation& operation, Endpoint endpoint) {
    Construct* const construct = find(operation.construct);
    if (!construct)
      return;
    if (tool.submit_emi)
      tool.submit_emi(endpoint, &construct->data, id_of(operation), construct->call.teams);
    else if (tool.submit && endpoint == kBegin)
      tool.submit(operation.construct, operation.id, construct->call.teams);
  }

  // The elements stay where they are: the tool is called without the lock.
  Construct* keep(const observe::ConstructBegins& event) {
    auto made = std::make_unique<Construct>(Construct{event.call});
    const std::lock_guard lock(mutex_);
    return (constructs_[event.construct] = std::move(made)).get();
  }
  Construct* find(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto at = constructs_.find(number);
    return at == constructs_.end() ? nullptr : at->second.get();
  }
  // The tool's own number for an operation, which it may set at its begin.
  std::uint64_t* id_of(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    return &operations_[operation.id];
  }

  std::atomic<bool> attached_{false};
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Construct>> constructs_; // that have begun
  std::map<std::uint64_t, std::uint64_t> operations_;              // likewise
  std::vector<int> devices_;                                       // that the tool knows
};

// Never destroyed: libomp may end after this library's own statics.
Tool& listener() {
  static Tool* const only = new Tool;
  return *only;
}

template <typename Function> void look_up(Lookup lookup, const char* name, Function*& place) {
  place = reinterpret_cast<Function*>(lookup(name));
}

int initialize(Lookup lookup, int, Data*) {
  static std::atomic<bool> is_connected{false};
  if (is_connected.exchange(true))
    return 1;
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
  listener().attach();
  return 1;
}

void finalize(Data*) {
  listener().detach();
}

} // namespace

void connect() {
  static Connection self{initialize, finalize, {0}};
  if (void* const libomp = find_in_libomp("ompt_libomp_connect"))
    reinterpret_cast<void (*)(Connection*)>(libomp)(&self);
}

} // namespace omptool::ompt
