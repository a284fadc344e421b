// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of programs compiled by clang 14 to 23, version VERS1.0: registration, regions, data. Each
// is a translation into offload.h. A construct with nowait is the body of a task of libomp's, which has waited for
// what it depends on. Its call returns when the construct has ended: libomp loses a task that its function has handed
// back (__tgt_target_nowait_query) when a thread ends, and between two tasks of mutexinoutset (docs/runtime.md).
#define OMPTARGET_NO_SYMVER
#include "abi/info/info.h"
#include "abi/llvm/call.h"
#include "abi/llvm/compilers.h"
#include "abi/llvm/descriptor.h"
#include "abi/llvm/kernel_arguments.h"
#include "abi/llvm/rows.h"
#include "offload/fallback.h"
#include "offload/offload.h"
#include "process/libomp.h"

#include <algorithm>
#include <optional>

namespace omptool::llvm {
namespace {

// ident_t.
struct Location {
  std::int32_t reserved1, flags, reserved2, reserved3;
  const char* source; // see Place
};

const char* source_of(const Location* where) {
  return where ? where->source : nullptr;
}

constexpr auto kLlvm = observe::Abi::kLlvm;

// A number that names no device is the program's mistake, in LLVM's words; unless there are no devices,
// when every region runs on the host. Names the region, if the call is one of a region.
void check_device(std::int64_t number, const void* region = nullptr) {
  const int count = number_of_devices(); // takes in what has registered
  if (count <= 0 || (number >= kDefaultDevice && number <= count)) [[likely]]
    return;
  if (region)
    say("region %s asks for device %lld: %s available", title_of(region, kernel_of(region).get()).c_str(),
        static_cast<long long>(number), (std::to_string(count) + (count == 1 ? " device is" : " devices are")).c_str());
  die_at("", static_cast<int>(number), "Device number '%lld' out of range, only %d devices available",
         static_cast<long long>(number), count);
}

// Runs `body`, all of the call that `describe` describes to those who want to know.
template <typename Describe, typename Body>
auto translated(const char* name, const Describe& describe, const Body& body) noexcept {
  return guarded(name, [&] {
    try {
      if (!observe::may_be_heard()) [[likely]]
        return body();
      Call call = describe();
      call.reported.arguments = {call.arrays.count, call.arrays.begin, call.arrays.names};
      const ReportedCall reported(call.reported, call.device);
      if (reported.device() >= 0 && info::informs(info::kInfoArguments))
        tell_arguments(reported.device(), call);
      return body();
    } catch (const MappingFault& fault) {
      die_of(fault, describe());
    }
  });
}

// Returns the rows that the host needs of a construct that is not understood: those that it copies back. Objects that
// an update copies to the device are newer on the host.
std::vector<Row> to_host(Action action, Rows rows) {
  std::vector<Row> wanted;
  for (Row row : rows) {
    if (action == Action::kUpdate)
      row.flags |= kAlways;
    row.flags &= ~static_cast<std::uint32_t>(kDelete);
    if (action == Action::kUpdate || (action == Action::kExitData && row.has(kFrom)))
      wanted.push_back(row);
  }
  return wanted;
}

template <Action action, bool nowait>
[[gnu::noinline]] void on_data(const char* name, const Location* where, std::int64_t device, const Arrays& arrays,
                               const void* caller) {
  const auto describe = [=, &arrays] {
    return Call{{kLlvm, action, name, caller, -1, nullptr, source_of(where), nowait}, device, arrays};
  };
  translated(name, describe, [=, &arrays] {
    check_device(device);
    RowList rows;
    const RowFault fault = add_rows(arrays, action, rows, caller);
    if (fault.is_of_compiler)
      return refuse_data(device, to_host(action, rows), fault.text);
    if (fault)
      return say("%s: %s; the call is ignored", name, fault.text.c_str());
    run_data(action, device, rows);
  });
}

[[gnu::always_inline]] inline std::int32_t on_region(const char* name, bool nowait, std::int64_t device,
                                                     const void* region, const Arrays& arrays, const void* caller,
                                                     const AskedShape& shape) {
  RowList rows;
  check_device(device, region);
  if (Registry* const registry = Registry::current())
    region = registry->meant_by(region, caller);
  if (const RowFault fault = add_rows(arrays, Action::kRegion, rows, caller); fault.is_of_compiler)
    return refuse_region(device, region, rows, fault.text, Fault::kOfCompiler);
  else if (fault)
    return refuse_region(device, region, rows, std::string(name) + ": " + fault.text);
  return nowait ? run_task_region(device, region, rows, shape) : run_region(device, region, rows, shape);
}

// The number of iterations of the thread's next region on the device, which clang 14 passes in a call of its own. At
// most one: clang's calls are one right after the other.
struct TripCount {
  std::int64_t device;
  std::uint64_t count;
};
thread_local constinit TripCount pushed [[gnu::tls_model("initial-exec")]]{};

std::uint64_t take_trip_count(std::int64_t device) {
  return pushed.count != 0 && pushed.device == device_number(device) ? std::exchange(pushed.count, 0) : 0;
}

// The last element of the arrays is to stand for the launch environment, and does not.
bool lacks_environment(const KernelArguments& all, const RecordVersion& version) {
  if (version.environment != EnvironmentPlace::kLast)
    return false;
  const std::uint32_t last = all.count - 1;
  return all.count == 0 || !all.size || !all.type || all.size[last] != 0 ||
         all.type[last] != (kTypeLiteral | kTypeParameter);
}

// Returns the arrays without the launch environment.
Arrays arrays_of(const KernelArguments& all, const RecordVersion& version) {
  const bool has_more = version.environment == EnvironmentPlace::kLast && all.count > 0;
  return {has_more ? all.count - 1 : all.count, all.base, all.begin, all.size, all.type, all.names, all.mappers};
}

// The numbers of teams and threads in a region's call.
struct CallNumbers {
  const KernelArguments* arguments;
  std::int32_t teams, thread_limit;
};
LaunchShape shape_of_call(const void* call) {
  const auto& numbers = *static_cast<const CallNumbers*>(call);
  return shape_of(*numbers.arguments, numbers.teams, numbers.thread_limit);
}

bool is_nowait(const KernelArguments& arguments, const RecordVersion& version) {
  return version.has_shape && (arguments.flags & kNowaitFlag);
}

[[gnu::cold]] Call call_of(const char* name, const Location* where, std::int64_t device, const void* region,
                           const CallNumbers& numbers, const void* caller) {
  Call call{{kLlvm, Action::kRegion, name, caller, -1, region, source_of(where)}, device, {}};
  if (const RecordVersion& version = version_of(numbers.arguments); version.is_known) {
    call.reported.nowait = is_nowait(*numbers.arguments, version);
    call.reported.teams = shape_of_call(&numbers).asked.teams[0];
    call.arrays = arrays_of(*numbers.arguments, version);
  }
  return call;
}

// Returns why a call cannot be understood, by the version of its record; "": it can be.
[[gnu::cold]] std::string fault_of(const KernelArguments* arguments, const void* caller) {
  if (!arguments)
    return "its call has no kernel arguments";
  if (version_of(arguments).is_known)
    return "the last of its arguments is no launch environment";
  return of_newer_compiler("kernel arguments of version " + std::to_string(arguments->version) + " are unknown",
                           caller);
}

std::int32_t on_kernel(const char* name, const Location* where, std::int64_t device, std::int32_t num_teams,
                       std::int32_t thread_limit, const void* region, const KernelArguments* arguments,
                       const void* caller) {
  // Outside the closure: its two numbers are stored one by one, and would be copied at once, which stalls for 4 ns.
  const CallNumbers numbers{arguments, num_teams, thread_limit};
  return translated(
      name, [=, &numbers] { return call_of(name, where, device, region, numbers, caller); },
      [=, &numbers] {
        const RecordVersion& version = version_of(arguments);
        if (!version.is_known || lacks_environment(*arguments, version)) [[unlikely]]
          return refuse_region(device, region, std::nullopt, fault_of(arguments, caller), Fault::kOfCompiler);
        return on_region(name, is_nowait(*arguments, version), device, region, arrays_of(*arguments, version), caller,
                         {LaunchShape::Origin::kCompiler, version.environment, &numbers, shape_of_call});
      });
}

constexpr std::int32_t kNone = -1; // a number of teams or threads that no clause says

// Clang 14 and before write no record. The first version says all that these calls do.
std::int32_t on_old_region(const char* name, const Location* where, std::int64_t device, const void* region,
                           const Arrays& all, const void* caller, std::int32_t teams, std::int32_t threads) {
  const KernelArguments arguments{
      1, all.count, all.base, all.begin, all.size, all.type, all.names, all.mappers, take_trip_count(device)};
  return on_kernel(name, where, device, teams, threads, region, &arguments, caller);
}

} // namespace

extern "C" {

OMPTOOL_EXPORT void __tgt_register_lib(__tgt_bin_desc* descriptor) {
  look_for_libomp_again();
  if (descriptor)
    guarded(__func__, [&] { require_entries_of(descriptor); });
  register_library(descriptor, read_library);
}

OMPTOOL_EXPORT void __tgt_unregister_lib(__tgt_bin_desc* descriptor) {
  unregister_library(descriptor);
}

OMPTOOL_EXPORT void __tgt_register_requires(std::int64_t mask) {
  const void* const caller = __builtin_return_address(0);
  guarded(__func__, [&] { require(mask, caller); });
}

// ---- regions ----

// Arguments that nothing needs are left out at the end of parameter lists; the C calling convention
// lets callers pass them all the same. Dependences are among them: clang 14 to 18 leave them undefined.

OMPTOOL_EXPORT std::int32_t __tgt_target_kernel(const Location* where, std::int64_t device, std::int32_t num_teams,
                                                std::int32_t thread_limit, void* region,
                                                const KernelArguments* arguments) {
  return on_kernel(__func__, where, device, num_teams, thread_limit, region, arguments, __builtin_return_address(0));
}
OMPTOOL_EXPORT std::int32_t __tgt_target_kernel_nowait(const Location* where, std::int64_t device,
                                                       std::int32_t num_teams, std::int32_t thread_limit, void* region,
                                                       const KernelArguments* arguments) {
  return on_kernel(__func__, where, device, num_teams, thread_limit, region, arguments, __builtin_return_address(0));
}

// After the function's name come the numbers that it is called with, if any, and their parameters.
#define OMPTOOL_LLVM_REGION(function, teams, threads, ...)                                                             \
  OMPTOOL_EXPORT std::int32_t function(const Location* where, std::int64_t device, void* region, std::uint32_t count,  \
                                       void** base, void** begin, std::int64_t* size, std::int64_t* type,              \
                                       void** names, void** mappers __VA_OPT__(, ) __VA_ARGS__) {                      \
    return on_old_region(__func__, where, device, region, {count, base, begin, size, type, names, mappers},            \
                         __builtin_return_address(0), teams, threads);                                                 \
  }
OMPTOOL_LLVM_REGION(__tgt_target_mapper, kNone, kNone)
OMPTOOL_LLVM_REGION(__tgt_target_nowait_mapper, kNone, kNone)
OMPTOOL_LLVM_REGION(__tgt_target_teams_mapper, teams, threads, std::int32_t teams, std::int32_t threads)
OMPTOOL_LLVM_REGION(__tgt_target_teams_nowait_mapper, teams, threads, std::int32_t teams, std::int32_t threads)
#undef OMPTOOL_LLVM_REGION

// Before clang 12: no source location, no names, no mappers.
#define OMPTOOL_LLVM_OLD_REGION(function, name, teams, threads, ...)                                                   \
  OMPTOOL_EXPORT std::int32_t function(std::int64_t device, void* region, std::uint32_t count, void** base,            \
                                       void** begin, std::int64_t* size,                                               \
                                       std::int64_t* type __VA_OPT__(, ) __VA_ARGS__) {                                \
    return on_old_region(name, nullptr, device, region, {count, base, begin, size, type, nullptr, nullptr},            \
                         __builtin_return_address(0), teams, threads);                                                 \
  }
OMPTOOL_LLVM_OLD_REGION(llvm_target, "__tgt_target", kNone, kNone)
OMPTOOL_LLVM_OLD_REGION(llvm_target_teams, "__tgt_target_teams", teams, threads, std::int32_t teams,
                        std::int32_t threads)
OMPTOOL_LLVM_OLD_REGION(__tgt_target_nowait, __func__, kNone, kNone)
OMPTOOL_LLVM_OLD_REGION(__tgt_target_teams_nowait, __func__, teams, threads, std::int32_t teams, std::int32_t threads)
#undef OMPTOOL_LLVM_OLD_REGION

OMPTOOL_EXPORT void __kmpc_push_target_tripcount(std::int64_t device, std::uint64_t count) {
  guarded(__func__, [&] { pushed = {device_number(device), count}; });
}
OMPTOOL_EXPORT void __kmpc_push_target_tripcount_mapper(void*, std::int64_t device, std::uint64_t count) {
  __kmpc_push_target_tripcount(device, count);
}

// ---- data ----

#define OMPTOOL_LLVM_DATA(function, action, nowait)                                                                    \
  OMPTOOL_EXPORT void function(const Location* where, std::int64_t device, std::uint32_t count, void** base,           \
                               void** begin, std::int64_t* size, std::int64_t* type, void** names, void** mappers) {   \
    on_data<action, nowait>(__func__, where, device, {count, base, begin, size, type, names, mappers},                 \
                            __builtin_return_address(0));                                                              \
  }
OMPTOOL_LLVM_DATA(__tgt_target_data_begin_mapper, Action::kEnterData, false)
OMPTOOL_LLVM_DATA(__tgt_target_data_begin_nowait_mapper, Action::kEnterData, true)
OMPTOOL_LLVM_DATA(__tgt_target_data_end_mapper, Action::kExitData, false)
OMPTOOL_LLVM_DATA(__tgt_target_data_end_nowait_mapper, Action::kExitData, true)
OMPTOOL_LLVM_DATA(__tgt_target_data_update_mapper, Action::kUpdate, false)
OMPTOOL_LLVM_DATA(__tgt_target_data_update_nowait_mapper, Action::kUpdate, true)
#undef OMPTOOL_LLVM_DATA

#define OMPTOOL_LLVM_OLD_DATA(function, name, action)                                                                  \
  OMPTOOL_EXPORT void function(std::int64_t device, std::uint32_t count, void** base, void** begin,                    \
                               std::int64_t* size, std::int64_t* type) {                                               \
    on_data<action, false>(name, nullptr, device, {count, base, begin, size, type, nullptr, nullptr},                  \
                           __builtin_return_address(0));                                                               \
  }
OMPTOOL_LLVM_OLD_DATA(llvm_target_data_begin, "__tgt_target_data_begin", Action::kEnterData)
OMPTOOL_LLVM_OLD_DATA(llvm_target_data_end, "__tgt_target_data_end", Action::kExitData)
OMPTOOL_LLVM_OLD_DATA(llvm_target_data_update, "__tgt_target_data_update", Action::kUpdate)
OMPTOOL_LLVM_OLD_DATA(__tgt_target_data_begin_nowait, __func__, Action::kEnterData)
OMPTOOL_LLVM_OLD_DATA(__tgt_target_data_end_nowait, __func__, Action::kExitData)
OMPTOOL_LLVM_OLD_DATA(__tgt_target_data_update_nowait, __func__, Action::kUpdate)
#undef OMPTOOL_LLVM_OLD_DATA

OMPTOOL_EXPORT_AS(llvm_target, "__tgt_target@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_teams, "__tgt_target_teams@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_begin, "__tgt_target_data_begin@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_end, "__tgt_target_data_end@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_update, "__tgt_target_data_update@VERS1.0");

// ---- user-defined mappers ----

OMPTOOL_EXPORT std::int64_t __tgt_mapper_num_components(void* handle) {
  return static_cast<std::int64_t>(static_cast<Components*>(handle)->size());
}

OMPTOOL_EXPORT void __tgt_push_mapper_component(void* handle, void* base, void* begin, std::int64_t size,
                                                std::int64_t type, void* name) {
  guarded(__func__, [&] { static_cast<Components*>(handle)->push_back({base, begin, size, type, name}); });
}

// libomp asks whether a task that its function has handed back is done. No function here hands one back.
OMPTOOL_EXPORT void __tgt_target_nowait_query(void**) {}
OMPTOOL_EXPORT void __tgt_target_sync(void*, std::int32_t, void*, void*) {}

// ---- what images for a CPU call ----

// Since clang 23, each virtual call passes the address of its object's table through this. An object that the host made
// has the host's, whose functions a CPU can call. A worker of another machine has a function of its own (weak).
[[gnu::weak]] OMPTOOL_EXPORT void* __llvm_omp_indirect_call_lookup(void* address) {
  return address;
}
}
} // namespace omptool::llvm
