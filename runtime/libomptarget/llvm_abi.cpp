// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of programs compiled by clang 14 to 22, version VERS1.0: registration, regions, data. Each
// is a translation into offload.h. Work that clang marks nowait runs before the call returns; libomp
// has put it on a thread of its own and has waited for what it depends on.
#define OMPTARGET_NO_SYMVER
#include "exports.h"
#include "llvm_descriptor.h"
#include "llvm_rows.h"
#include "llvm_source.h"
#include "offload.h"

#include <cstdint>

namespace omptool::llvm {
namespace {

constexpr std::int64_t kDefaultDevice = -1;
constexpr std::uint32_t kNewestVersion = 3; // of the kernel arguments

// How every version of LLVM's kernel arguments begins; the first ends soon after.
struct KernelArguments {
  std::uint32_t version;
  std::uint32_t count;
  void** base;
  void** begin;
  std::int64_t* size;
  std::int64_t* type;
  void** names;
  void** mappers;
};

// A number that names no device is the program's mistake, in LLVM's words; unless there are no devices,
// when every region runs on the host.
void check_device(std::int64_t number) {
  const int count = number_of_devices();
  if (count > 0 && (number < kDefaultDevice || number > count))
    die_at("", 7, "Device number '%lld' out of range, only %d devices available", static_cast<long long>(number),
           count);
}

// What LLVM's users read when their program breaks a rule of data mapping (abi-facts.md, 10.2).
[[noreturn]] void die_of(const MappingFault& fault, Construct construct, const Location* where) {
  constexpr const char* kError = "omptarget error: ";
  const bool maps_in = construct == Construct::kBegin || construct == Construct::kRegion;
  tell("omptarget message: ", "%s", fault.what());
  if (maps_in)
    tell(kError, "Call to getTargetPointer returned null pointer (%s).",
         fault.kind == MappingFault::Kind::kAbsent ? "'present' map type modifier"
                                                   : "device failure or illegal mapping");
  if (construct == Construct::kRegion) {
    tell(kError, "Call to targetDataBegin failed, abort target.");
    tell(kError, "Failed to process data before launching the kernel.");
  }
  tell(kError, "Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.");
  const Place place = place_of(where);
  if (!place.known())
    tell(kError, "Source location information not present. Compile with -g or -gline-tables-only.");
  die_at(place.known() ? place.text().c_str() : "", 1, "failure of target construct while offloading is mandatory");
}

// Runs `body`, all of a call for the construct at `where`.
template <typename Body>
auto translated(const char* call, Construct construct, const Location* where, const Body& body) noexcept {
  return guarded(call, [&] {
    try {
      return body();
    } catch (const MappingFault& fault) {
      die_of(fault, construct, where);
    }
  });
}

void on_data(const char* call, const Location* where, std::int64_t device, const Arrays& arrays, Construct construct,
             void (*action)(std::int64_t, Rows)) {
  translated(call, construct, where, [&] {
    check_device(device);
    RowList rows;
    if (const std::string fault = add_rows(arrays, construct, 0, rows); !fault.empty())
      say("%s: %s; the call is ignored", call, fault.c_str());
    else
      action(device, rows);
  });
}

// `rows` holds what precedes the arguments that the arrays describe.
std::int32_t on_region(const char* call, std::int64_t device, const void* region, const Arrays& arrays,
                       std::uint32_t extra, RowList& rows) {
  check_device(device);
  if (const std::string fault = add_rows(arrays, Construct::kRegion, extra, rows); !fault.empty())
    return refuse_region(device, region, rows, (std::string(call) + ": " + fault).c_str());
  return run_region(device, region, rows, {});
}

// Clang 14 and before: no environment, and null for what is absent.
std::int32_t on_old_region(const char* call, const Location* where, std::int64_t device, const void* region,
                           const Arrays& arrays) {
  return translated(call, Construct::kRegion, where, [&] {
    RowList rows;
    return on_region(call, device, region, arrays, 0, rows);
  });
}

// The launch environment is the first argument of kernels since clang 18. Clang 18 says version 2, as
// 16 and 17 do, but only they wrap their images. The kernels of a CPU never look at it.
void add_environment(std::uint32_t version, RowList& rows) {
  void* const nobody = reinterpret_cast<void*>(~std::uintptr_t{0});
  if (version >= 2)
    rows.add({nobody, nullptr, 0, kValue | kArgument | (version == 2 ? kIfEnvironment : 0U), nullptr});
}

std::int32_t on_kernel(const char* call, const Location* where, std::int64_t device, const void* region,
                       const KernelArguments* arguments) {
  return translated(call, Construct::kRegion, where, [&] {
    if (!arguments)
      return refuse_region(device, region, {}, "its call has no kernel arguments");
    const KernelArguments& all = *arguments;
    if (all.version == 0 || all.version > kNewestVersion) {
      const std::string reason = "kernel arguments of version " + std::to_string(all.version) + " are unknown";
      return refuse_region(device, region, {}, reason.c_str());
    }
    RowList rows;
    add_environment(all.version, rows);
    // LLVM 16 began to pass the host's address for what is absent.
    const std::uint32_t extra = all.version >= 2 ? kHostIfAbsent : 0U;
    return on_region(call, device, region, {all.count, all.base, all.begin, all.size, all.type, all.mappers}, extra,
                     rows);
  });
}

} // namespace
} // namespace omptool::llvm

using omptool::llvm::Construct;
using omptool::llvm::Location;

extern "C" {

OMPTOOL_EXPORT void __tgt_register_lib(__tgt_bin_desc* descriptor) {
  omptool::guarded(__func__, [&] {
    if (descriptor)
      omptool::Registry::obtain().add(descriptor, omptool::llvm::read_library);
  });
}

OMPTOOL_EXPORT void __tgt_unregister_lib(__tgt_bin_desc* descriptor) {
  omptool::guarded(__func__, [&] {
    if (omptool::Registry* registry = omptool::Registry::current(); registry && descriptor)
      registry->remove(descriptor);
  });
}

OMPTOOL_EXPORT void __tgt_register_requires(std::int64_t mask) {
  omptool::guarded(__func__, [&] { omptool::llvm::require(mask); });
}

// Devices are initialised when they are first used, and never given up.
OMPTOOL_EXPORT void __tgt_rtl_init() {}
OMPTOOL_EXPORT void __tgt_rtl_deinit() {}
OMPTOOL_EXPORT void __tgt_init_all_rtls() {}

// ---- regions ----

// Arguments that nothing needs are left out at the end of parameter lists; the C calling convention
// lets callers pass them all the same. Dependences are among them: clang 14 to 18 leave them undefined.

OMPTOOL_EXPORT std::int32_t __tgt_target_kernel(const Location* where, std::int64_t device, std::int32_t, std::int32_t,
                                                void* region, const omptool::llvm::KernelArguments* arguments) {
  return omptool::llvm::on_kernel(__func__, where, device, region, arguments);
}
OMPTOOL_EXPORT std::int32_t __tgt_target_kernel_nowait(const Location* where, std::int64_t device, std::int32_t,
                                                       std::int32_t, void* region,
                                                       const omptool::llvm::KernelArguments* arguments) {
  return omptool::llvm::on_kernel(__func__, where, device, region, arguments);
}

#define OMPTOOL_LLVM_REGION(function)                                                                                  \
  OMPTOOL_EXPORT std::int32_t function(const Location* where, std::int64_t device, void* region, std::uint32_t count,  \
                                       void** base, void** begin, std::int64_t* size, std::int64_t* type, void**,      \
                                       void** mappers) {                                                               \
    return omptool::llvm::on_old_region(__func__, where, device, region, {count, base, begin, size, type, mappers});   \
  }
OMPTOOL_LLVM_REGION(__tgt_target_mapper)
OMPTOOL_LLVM_REGION(__tgt_target_nowait_mapper)
OMPTOOL_LLVM_REGION(__tgt_target_teams_mapper)
OMPTOOL_LLVM_REGION(__tgt_target_teams_nowait_mapper)
#undef OMPTOOL_LLVM_REGION

// Before clang 12: no source location, no names, no mappers.
#define OMPTOOL_LLVM_OLD_REGION(function, name)                                                                        \
  OMPTOOL_EXPORT std::int32_t function(std::int64_t device, void* region, std::uint32_t count, void** base,            \
                                       void** begin, std::int64_t* size, std::int64_t* type) {                         \
    return omptool::llvm::on_old_region(name, nullptr, device, region, {count, base, begin, size, type, nullptr});     \
  }
OMPTOOL_LLVM_OLD_REGION(llvm_target, "__tgt_target")
OMPTOOL_LLVM_OLD_REGION(llvm_target_teams, "__tgt_target_teams")
OMPTOOL_LLVM_OLD_REGION(__tgt_target_nowait, __func__)
OMPTOOL_LLVM_OLD_REGION(__tgt_target_teams_nowait, __func__)
#undef OMPTOOL_LLVM_OLD_REGION

// The device image itself shares out iterations; their number is of no use here.
OMPTOOL_EXPORT void __kmpc_push_target_tripcount(std::int64_t, std::uint64_t) {}
OMPTOOL_EXPORT void __kmpc_push_target_tripcount_mapper(void*, std::int64_t, std::uint64_t) {}

// ---- data ----

#define OMPTOOL_LLVM_DATA(function, construct, action)                                                                 \
  OMPTOOL_EXPORT void function(const Location* where, std::int64_t device, std::uint32_t count, void** base,           \
                               void** begin, std::int64_t* size, std::int64_t* type, void**, void** mappers) {         \
    omptool::llvm::on_data(__func__, where, device, {count, base, begin, size, type, mappers}, construct, action);     \
  }
OMPTOOL_LLVM_DATA(__tgt_target_data_begin_mapper, Construct::kBegin, omptool::data_begin)
OMPTOOL_LLVM_DATA(__tgt_target_data_begin_nowait_mapper, Construct::kBegin, omptool::data_begin)
OMPTOOL_LLVM_DATA(__tgt_target_data_end_mapper, Construct::kEnd, omptool::data_end)
OMPTOOL_LLVM_DATA(__tgt_target_data_end_nowait_mapper, Construct::kEnd, omptool::data_end)
OMPTOOL_LLVM_DATA(__tgt_target_data_update_mapper, Construct::kUpdate, omptool::data_update)
OMPTOOL_LLVM_DATA(__tgt_target_data_update_nowait_mapper, Construct::kUpdate, omptool::data_update)
#undef OMPTOOL_LLVM_DATA

#define OMPTOOL_LLVM_OLD_DATA(function, name, construct, action)                                                       \
  OMPTOOL_EXPORT void function(std::int64_t device, std::uint32_t count, void** base, void** begin,                    \
                               std::int64_t* size, std::int64_t* type) {                                               \
    omptool::llvm::on_data(name, nullptr, device, {count, base, begin, size, type, nullptr}, construct, action);       \
  }
OMPTOOL_LLVM_OLD_DATA(llvm_target_data_begin, "__tgt_target_data_begin", Construct::kBegin, omptool::data_begin)
OMPTOOL_LLVM_OLD_DATA(llvm_target_data_end, "__tgt_target_data_end", Construct::kEnd, omptool::data_end)
OMPTOOL_LLVM_OLD_DATA(llvm_target_data_update, "__tgt_target_data_update", Construct::kUpdate, omptool::data_update)
OMPTOOL_LLVM_OLD_DATA(__tgt_target_data_begin_nowait, __func__, Construct::kBegin, omptool::data_begin)
OMPTOOL_LLVM_OLD_DATA(__tgt_target_data_end_nowait, __func__, Construct::kEnd, omptool::data_end)
OMPTOOL_LLVM_OLD_DATA(__tgt_target_data_update_nowait, __func__, Construct::kUpdate, omptool::data_update)
#undef OMPTOOL_LLVM_OLD_DATA

OMPTOOL_EXPORT_AS(llvm_target, "__tgt_target@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_teams, "__tgt_target_teams@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_begin, "__tgt_target_data_begin@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_end, "__tgt_target_data_end@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_update, "__tgt_target_data_update@VERS1.0");

// ---- user-defined mappers ----

OMPTOOL_EXPORT std::int64_t __tgt_mapper_num_components(void* handle) {
  return static_cast<std::int64_t>(static_cast<omptool::llvm::Components*>(handle)->size());
}

OMPTOOL_EXPORT void __tgt_push_mapper_component(void* handle, void* base, void* begin, std::int64_t size,
                                                std::int64_t type, void*) {
  omptool::guarded(__func__,
                   [&] { static_cast<omptool::llvm::Components*>(handle)->push_back({base, begin, size, type}); });
}

// A task that waits for a region asks whether it is done: regions are, when their call returns.
OMPTOOL_EXPORT void __tgt_target_nowait_query(void** handle) {
  if (handle)
    *handle = nullptr;
}
OMPTOOL_EXPORT void __tgt_target_sync(void*, std::int32_t, void*, void*) {}
}
