// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPT's types, as OpenMP 5.2 defines them: what a tool and this library share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omptool::ompt {

using AnyFunction = void (*)();
using Lookup = AnyFunction (*)(const char* name);
using Id = std::uint64_t;

union Data {
  std::uint64_t value;
  void* pointer;
};

enum Endpoint : int { kBegin = 1, kEnd = 2 };
enum SetResult : int { kSetError = 0, kSetNever = 1, kSetImpossible = 2, kSetAlways = 5 };
enum MapFlag : unsigned {
  kMapTo = 1,
  kMapFrom = 2,
  kMapAlloc = 4,
  kMapRelease = 8,
  kMapDelete = 16,
  kMapImplicit = 32
};

// ompt_callbacks_t: the events of devices. Those with begin and end end in Emi.
enum Event : int {
  kTarget = 8,
  kDataOp = 9,
  kSubmit = 10,
  kDeviceInitialize = 12,
  kDeviceFinalize = 13,
  kDeviceLoad = 14,
  kDeviceUnload = 15,
  kMap = 22,
  kTargetEmi = 33,
  kDataOpEmi = 34,
  kSubmitEmi = 35,
  kMapEmi = 36
};
constexpr int kFirstEvent = 1, kLastEvent = 37; // of all of OMPT's

struct EventName {
  Event event;
  const char* name;
};
constexpr std::array<EventName, 12> kEvents{{{kTarget, "ompt_callback_target"},
                                             {kDataOp, "ompt_callback_target_data_op"},
                                             {kSubmit, "ompt_callback_target_submit"},
                                             {kDeviceInitialize, "ompt_callback_device_initialize"},
                                             {kDeviceFinalize, "ompt_callback_device_finalize"},
                                             {kDeviceLoad, "ompt_callback_device_load"},
                                             {kDeviceUnload, "ompt_callback_device_unload"},
                                             {kMap, "ompt_callback_target_map"},
                                             {kTargetEmi, "ompt_callback_target_emi"},
                                             {kDataOpEmi, "ompt_callback_target_data_op_emi"},
                                             {kSubmitEmi, "ompt_callback_target_submit_emi"},
                                             {kMapEmi, "ompt_callback_target_map_emi"}}};

// Callback: the function that the tool sets for an event.
template <Event event> struct Callback;
template <> struct Callback<kDeviceInitialize> {
  using Function = void(int device, const char* type, void* handle, Lookup lookup, const char* documentation);
};
template <> struct Callback<kDeviceFinalize> {
  using Function = void(int device);
};
template <> struct Callback<kDeviceLoad> {
  using Function = void(int device, const char* file, std::int64_t offset, void* in_file, std::size_t size, void* host,
                        void* there, std::uint64_t module);
};
template <> struct Callback<kDeviceUnload> {
  using Function = void(int device, std::uint64_t module);
};
template <> struct Callback<kTarget> {
  using Function = void(int kind, int endpoint, int device, Data* task, Id target, const void* caller);
};
template <> struct Callback<kTargetEmi> {
  using Function = void(int kind, int endpoint, int device, Data* task, Data* target_task, Data* target,
                        const void* caller);
};
template <> struct Callback<kDataOp> {
  using Function = void(Id target, Id operation, int kind, void* from, int from_device, void* to, int to_device,
                        std::size_t size, const void* caller);
};
template <> struct Callback<kDataOpEmi> {
  using Function = void(int endpoint, Data* target_task, Data* target, Id* operation, int kind, void* from,
                        int from_device, void* to, int to_device, std::size_t size, const void* caller);
};
template <> struct Callback<kSubmit> {
  using Function = void(Id target, Id operation, unsigned teams);
};
template <> struct Callback<kSubmitEmi> {
  using Function = void(int endpoint, Data* target, Id* operation, unsigned teams);
};
template <> struct Callback<kMap> {
  using Function = void(Id target, unsigned count, void** host, void** there, std::size_t* sizes, unsigned* flags,
                        const void* caller);
};
template <> struct Callback<kMapEmi> {
  using Function = void(Data* target, unsigned count, void** host, void** there, std::size_t* sizes, unsigned* flags,
                        const void* caller);
};

// The callbacks of the tool; there is one tool in a process. A tool may set them at any time.
class Callbacks {
public:
  void set(int event, AnyFunction function) {
    functions_[static_cast<std::size_t>(event)].store(function, std::memory_order_release);
  }
  AnyFunction get(int event) const {
    return functions_[static_cast<std::size_t>(event)].load(std::memory_order_acquire);
  }
  // Gets the tool's callback, or null if it has set none.
  template <Event event> typename Callback<event>::Function* get() const {
    return reinterpret_cast<typename Callback<event>::Function*>(get(event));
  }

private:
  std::array<std::atomic<AnyFunction>, kLastEvent + 1> functions_{};
};

// ompt_target_data_op_t, and where it moves to and from.
struct DataOperation {
  int kind;
  void* from;
  int from_device;
  void* to;
  int to_device;
};

// ompt_start_tool_result_t.
struct StartResult {
  int (*initialize)(Lookup lookup, int initial_device, Data* data);
  void (*finalize)(Data* data);
  Data data;
};

// ---- device tracing ----

// ompt_record_ompt_t, of the three types of records that a device has.
struct Record {
  struct Target {
    int kind, endpoint, device;
    Id task, target;
    const void* caller;
  };
  struct DataOp {
    Id operation;
    int kind;
    void* from;
    int from_device;
    void* to;
    int to_device;
    std::size_t size;
    std::uint64_t end;
    const void* caller;
  };
  struct Kernel {
    Id operation;
    unsigned asked_teams, granted_teams;
    std::uint64_t end;
  };
  int type; // an Event without begin and end
  std::uint64_t time;
  Id thread, target;
  union {
    Target construct;
    DataOp data_op;
    Kernel kernel;
  };
};

using BufferRequest = void (*)(int device, void** buffer, std::size_t* size);
using BufferComplete = void (*)(int device, void* buffer, std::size_t size, std::uint64_t begin, int is_owned);

} // namespace omptool::ompt
