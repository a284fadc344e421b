// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the tool of the core's events, by the callbacks that it has set and in the traces of devices that it has
// started.
#include "observe/events/sink.h"
#include "observe/ompt/device_trace.h"
#include "observe/ompt/tool.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace omptool::ompt {

constinit Callbacks callbacks;

namespace {

using observe::Action;
using observe::Call;
using observe::Operation;

// The thread's number in the system; glibc has gettid() since 2.30.
Id this_thread() {
  return static_cast<Id>(::syscall(SYS_gettid));
}

// Kind of the construct, as ompt_target_t: the construct's own number, and from 9 on with nowait.
int kind_of(const Call& call) {
  constexpr int kNowait = 8;
  return static_cast<int>(call.action) + 1 + (call.nowait ? kNowait : 0);
}
static_assert(static_cast<int>(Action::kRegion) == 0 && static_cast<int>(Action::kUpdate) == 3);

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
  case Operation::Kind::kBetweenDevices: // OpenMP has no kind for it. LLVM's runtime reports the source's side
    return {3, host, operation.from, there, operation.device};
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

unsigned map_flags(const observe::RowSeen& row, bool is_exit) {
  unsigned flags = (row.is_to && !is_exit ? kMapTo : 0U) | (row.is_from ? kMapFrom : 0U);
  if (is_exit && row.is_delete)
    flags |= kMapDelete;
  else if (flags == 0)
    flags = is_exit ? kMapRelease : kMapAlloc;
  return flags | (row.is_implicit ? kMapImplicit : 0U);
}

// Map items: the rows of a construct that map memory, in the tool's form.
struct MapItems {
  std::vector<void*> host, there;
  std::vector<std::size_t> sizes;
  std::vector<unsigned> flags;

  MapItems(const observe::RowsSeen& event, bool is_exit) {
    for (const observe::RowSeen& row : event.rows) {
      if (!row.is_map || (row.size == 0 && !row.object))
        continue;
      const auto begin = reinterpret_cast<std::uintptr_t>(row.begin);
      const bool is_there = row.object && row.object->device;
      host.push_back(const_cast<void*>(row.begin));
      there.push_back(is_there ? const_cast<std::byte*>(row.object->at(begin)) : nullptr);
      sizes.push_back(static_cast<std::size_t>(row.size));
      flags.push_back(map_flags(row, is_exit));
    }
  }
};

// Construct data of the tool, from the construct's begin to its end.
struct Construct {
  Call call;
  Data* task;
  Data* target_task;
  Id thread = this_thread();
  Data data{0};
  std::vector<Operation> allocations{}; // that the tool has yet to hear of
};

// Operation data: the number of an operation, which the tool may set at its begin, and the data of operations outside
// of constructs.
struct OperationData {
  Id id = 0;
  Data no_target{0};
};

class Tool : public observe::Listener {
public:
  void hear(const observe::Event& event) override {
    if (attached_.load(std::memory_order_acquire))
      observe::dispatch(event, [this](const auto& one) { on(one); });
  }
  void attach(const TaskData& tasks) {
    tasks_ = tasks;
    attached_.store(true, std::memory_order_release);
    observe::subscribe(*this, observe::kHeard | observe::kBegins |
                                  observe::kOnThread); // callbacks come in the context of the target task
  }
  void detach() {
    attached_.store(false, std::memory_order_release);
    observe::unsubscribe(*this);
  }

private:
  void on(const observe::ConstructBegins& event) {
    if (event.call.action == Action::kRoutine)
      return;
    tell(event.construct, *keep(event), kBegin);
  }
  void on(const observe::ConstructEnds& event) {
    Construct* const construct = find(event.construct);
    if (!construct)
      return;
    tell_allocations(*construct, construct->allocations.size());
    tell(event.construct, *construct, kEnd);
    const std::lock_guard lock(mutex_);
    constructs_.erase(event.construct);
  }
  void on(const observe::RowsSeen& event) {
    using Kind = observe::RowsSeen::Kind;
    Construct* const construct = find(event.construct);
    const bool is_exit = event.kind == Kind::kReleased;
    const bool is_wanted = callbacks.get(kMapEmi) || callbacks.get(kMap);
    if (!construct || !is_wanted || event.kind == Kind::kUpdated ||
        (is_exit && construct->call.action != Action::kExitData))
      return;
    MapItems items(event, is_exit);
    const auto count = static_cast<unsigned>(items.host.size());
    if (count == 0)
      return;
    if (auto* const emi = callbacks.get<kMapEmi>())
      emi(&construct->data, count, items.host.data(), items.there.data(), items.sizes.data(), items.flags.data(),
          construct->call.code);
    else if (auto* const plain = callbacks.get<kMap>())
      plain(event.construct, count, items.host.data(), items.there.data(), items.sizes.data(), items.flags.data(),
            construct->call.code);
  }
  void on(const observe::OperationBegins& event) {
    if (tells_later(event.operation))
      return;
    if (Construct* const construct = find(event.operation.construct))
      tell_allocations(*construct, those_before(*construct, event.operation));
    tell(event.operation, kBegin);
  }
  void on(const observe::OperationEnds& event) {
    if (tells_later(event.operation))
      find(event.operation.construct)->allocations.push_back(event.operation);
    else
      end(event.operation);
  }
  void on(const observe::DeviceReady& event) {
    auto trace = std::make_unique<DeviceTrace>(event.device, event.processors);
    DeviceTrace* const handle = trace.get();
    {
      const std::lock_guard lock(mutex_);
      traces_[event.device] = std::move(trace);
      devices_.push_back(event.device);
    }
    if (auto* const callback = callbacks.get<kDeviceInitialize>())
      callback(event.device, event.title.c_str(), handle, DeviceTrace::look_up, nullptr);
  }
  // Reports the end of devices. The tool may flush its traces then; the records that remain are passed to it
  // afterwards.
  void on(const observe::DevicesFinish&) {
    std::vector<int> devices;
    {
      const std::lock_guard lock(mutex_);
      devices.swap(devices_);
    }
    for (const int device : devices) {
      if (auto* const callback = callbacks.get<kDeviceFinalize>())
        callback(device);
      trace_of(device)->stop();
    }
  }
  void on(const observe::ImageLoaded& event) {
    constexpr std::int64_t kNoFile = -1;
    if (auto* const callback = callbacks.get<kDeviceLoad>())
      callback(event.device, nullptr, kNoFile, nullptr, event.size, const_cast<void*>(event.image), nullptr,
               event.module);
  }
  void on(const observe::ImageUnloaded& event) {
    if (auto* const callback = callbacks.get<kDeviceUnload>())
      callback(event.device, event.module);
  }
  template <typename Other> void on(const Other&) {} // there is no callback for it

  void end(const Operation& operation) {
    tell(operation, kEnd);
    trace(operation);
    const std::lock_guard lock(mutex_);
    operations_.erase(operation.id);
  }

  // ---- order ----

  // Returns whether the operation is reported later. The core allocates all objects of a construct, and then copies.
  // LLVM's runtime copies to each object before it allocates the next, and tools expect that order. Constructs with
  // nowait may operate on several threads.
  bool tells_later(const Operation& operation) {
    const Construct* const construct =
        operation.kind == Operation::Kind::kAllocate ? find(operation.construct) : nullptr;
    return construct && construct->call.action != Action::kRoutine && !construct->call.nowait;
  }
  // Returns how many of the allocations come before the operation: those up to its object's, if it copies to one.
  static std::size_t those_before(const Construct& construct, const Operation& operation) {
    const auto& all = construct.allocations;
    const auto holds = [&](const Operation& one) {
      const auto* const begin = static_cast<const std::byte*>(one.there);
      const auto* const there = static_cast<const std::byte*>(operation.there);
      return there >= begin && there < begin + one.size;
    };
    if (operation.kind != Operation::Kind::kToDevice)
      return all.size();
    const auto its = std::find_if(all.begin(), all.end(), holds);
    return its == all.end() ? 0 : static_cast<std::size_t>(its - all.begin()) + 1;
  }
  void tell_allocations(Construct& construct, std::size_t count) {
    const auto end_of = construct.allocations.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<Operation> told(construct.allocations.begin(), end_of);
    construct.allocations.erase(construct.allocations.begin(), end_of);
    for (const Operation& allocation : told) {
      Operation begun = allocation;
      begun.there = nullptr; // as at its begin
      tell(begun, kBegin);
      end(allocation);
    }
  }

  void tell(std::uint64_t number, Construct& construct, Endpoint endpoint) {
    const Call& call = construct.call;
    if (auto* const emi = callbacks.get<kTargetEmi>())
      emi(kind_of(call), endpoint, call.device, construct.task, construct.target_task, &construct.data, call.code);
    else if (auto* const plain = callbacks.get<kTarget>())
      plain(kind_of(call), endpoint, call.device, construct.task, number, call.code);
    Record record{
        kTarget, DeviceTrace::time_of(Operation::Clock::now()), construct.thread, id_of(number, construct), {}};
    record.construct = {kind_of(call), endpoint, call.device, construct.task ? construct.task->value : 0,
                        record.target, call.code};
    trace_of(call.device)->add(record);
  }

  // Calls the tool for an operation; other kinds have no callback.
  void tell(const Operation& operation, Endpoint endpoint) {
    if (operation.kind == Operation::Kind::kLaunch)
      tell_launch(operation, endpoint);
    else if (operation.kind != Operation::Kind::kWait && operation.kind != Operation::Kind::kJoin)
      tell_data(operation, endpoint);
  }

  // Reports a data operation. Callbacks without begin and end are called once, when all values are known.
  void tell_data(const Operation& operation, Endpoint endpoint) {
    Construct* const construct = find(operation.construct);
    OperationData& own = data_of(operation);
    const DataOperation reported = data_operation(operation);
    const std::size_t size = static_cast<std::size_t>(operation.size);
    const Endpoint when = operation.kind == Operation::Kind::kAllocate ? kEnd : kBegin;
    if (auto* const emi = callbacks.get<kDataOpEmi>())
      emi(endpoint, construct ? construct->target_task : nullptr, construct ? &construct->data : &own.no_target,
          &own.id, reported.kind, reported.from, reported.from_device, reported.to, reported.to_device, size,
          operation.code);
    else if (auto* const plain = callbacks.get<kDataOp>(); plain && endpoint == when)
      plain(construct ? operation.construct : 0, operation.id, reported.kind, reported.from, reported.from_device,
            reported.to, reported.to_device, size, operation.code);
  }

  void tell_launch(const Operation& operation, Endpoint endpoint) {
    Construct* const construct = find(operation.construct);
    if (!construct)
      return;
    if (auto* const emi = callbacks.get<kSubmitEmi>())
      emi(endpoint, &construct->data, &data_of(operation).id, construct->call.teams);
    else if (auto* const plain = callbacks.get<kSubmit>(); plain && endpoint == kBegin)
      plain(operation.construct, operation.id, construct->call.teams);
  }

  // ---- device tracing ----

  void trace(const Operation& operation) {
    using Kind = Operation::Kind;
    if (operation.kind == Kind::kWait || operation.kind == Kind::kJoin)
      return;
    Construct* const construct = find(operation.construct);
    const bool is_launch = operation.kind == Kind::kLaunch;
    Record record{is_launch ? kSubmit : kDataOp,
                  DeviceTrace::time_of(operation.began),
                  construct ? construct->thread : this_thread(),
                  construct ? id_of(operation.construct, *construct) : 0,
                  {}};
    const std::uint64_t end = DeviceTrace::time_of(operation.ended);
    const bool names_it = callbacks.get(is_launch ? kSubmitEmi : kDataOpEmi);
    const Id id = names_it ? data_of(operation).id : operation.id;
    if (is_launch) {
      const unsigned teams = construct ? construct->call.teams : 0;
      record.kernel = {id, teams, teams, end};
    } else {
      const DataOperation moved = data_operation(operation);
      record.data_op = {id,
                        moved.kind,
                        moved.from,
                        moved.from_device,
                        moved.to,
                        moved.to_device,
                        static_cast<std::size_t>(operation.size),
                        end,
                        operation.code};
    }
    trace_of(operation.device)->add(record);
  }

  // Id of a construct: the tool's number, if it has set one, else our own number.
  static Id id_of(std::uint64_t number, const Construct& construct) {
    return callbacks.get(kTargetEmi) ? construct.data.value : number;
  }

  // ---- what is known ----

  // Keeps the tool's data of a construct. Elements of all three maps have stable addresses, because the tool is called
  // without the lock.
  Construct* keep(const observe::ConstructBegins& event) {
    auto made = std::make_unique<Construct>(Construct{event.call, tasks_.task ? tasks_.task() : nullptr,
                                                      tasks_.target_task ? tasks_.target_task() : nullptr});
    const std::lock_guard lock(mutex_);
    return (constructs_[event.construct] = std::move(made)).get();
  }
  Construct* find(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto at = constructs_.find(number);
    return at == constructs_.end() ? nullptr : at->second.get();
  }
  OperationData& data_of(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    return operations_[operation.id];
  }
  // Trace of a device. A device that was ready before the tool was connected has a trace that cannot be started.
  DeviceTrace* trace_of(int device) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<DeviceTrace>& trace = traces_[device];
    if (!trace)
      trace = std::make_unique<DeviceTrace>(device, 0);
    return trace.get();
  }

  TaskData tasks_; // written before this subscribes
  std::atomic<bool> attached_{false};
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Construct>> constructs_; // that have begun
  std::map<std::uint64_t, OperationData> operations_;              // likewise
  std::map<int, std::unique_ptr<DeviceTrace>> traces_;             // for good: the tool has their addresses
  std::vector<int> devices_;                                       // that the tool knows
};

// Listener for the tool. Never destroyed, because libomp may end after this library's own statics.
Tool& listener() {
  static Tool* const only = new Tool;
  return *only;
}

} // namespace

void attach(const TaskData& tasks) {
  listener().attach(tasks);
}

void detach() {
  listener().detach();
}

} // namespace omptool::ompt
