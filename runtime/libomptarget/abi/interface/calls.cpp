// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface document's calls (libomptarget-interface.tex): int32_t map types, exported as @@OMPTARGET_4.5. The
// registration functions share their names with LLVM's and are @OMPTARGET_4.5 (decision 4).
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/calls_of_arrays.h"
#include "offload/outstanding.h"

namespace omptool {
namespace {

std::string read_library(const void* address, LibraryContents& contents) {
  const __tgt_bin_desc& descriptor = *static_cast<const __tgt_bin_desc*>(address);
  if (!is_range(descriptor.EntriesBegin, descriptor.EntriesEnd))
    return "its entry table does not end where an entry ends";
  for (const __tgt_offload_entry& entry : std::span(descriptor.EntriesBegin, descriptor.EntriesEnd))
    contents.table.add(entry);
  return read_images(descriptor.NumDevices, descriptor.DeviceImages, contents.images);
}

constexpr FlagOfBit<std::int32_t> kTranslation[] = {
    {OMP_TGT_MAPTYPE_TO, kTo},
    {OMP_TGT_MAPTYPE_FROM, kFrom},
    {OMP_TGT_MAPTYPE_ALWAYS, kAlways},
    {OMP_TGT_MAPTYPE_DELETE, kDelete},
    {OMP_TGT_MAPTYPE_MAP_PTR, kPointer},
    {OMP_TGT_MAPTYPE_FIRST_REF, kCounts | kArgument},
    {OMP_TGT_MAPTYPE_RETURN_PTR, kReturn},
    {OMP_TGT_MAPTYPE_PRIVATE_PTR, kPrivate | kArgument},
    {OMP_TGT_MAPTYPE_PRIVATE_VAL, kValue | kArgument},
};

struct Arrays {
  static constexpr observe::Abi kAbi = observe::Abi::kInterface;
  static constexpr const char* kHowMany = "four";
  std::int32_t device;
  std::int32_t count;
  void** bases;
  void** begins;
  std::int64_t* sizes;
  std::int32_t* types;

  std::int64_t known_device() const { return device; }
  static std::string fault() { return {}; }
  bool complete() const { return bases && begins && sizes && types; }
  Row row(std::size_t i) const { return {bases[i], begins[i], sizes[i], flags_of(types[i], kTranslation), &bases[i]}; }
  std::int32_t type(std::size_t i) const { return types[i]; }
  const char* fault_of(std::size_t i) const {
    constexpr std::int32_t kKnown = 0x1ff;
    if (types[i] & ~kKnown)
      return "has an unknown bit in its map type";
    if (types[i] & OMP_TGT_MAPTYPE_PRIVATE_VAL)
      return nullptr; // the value alone counts
    if (const char* const fault = fault_of_memory(begins[i], sizes[i]))
      return fault;
    if ((types[i] & OMP_TGT_MAPTYPE_MAP_PTR) && !bases[i])
      return "has MAP_PTR, but no pointer cell";
    return nullptr;
  }
};

} // namespace

extern "C" {

OMPTOOL_EXPORT void omptarget_register_lib(__tgt_bin_desc* descriptor) {
  register_library(descriptor, read_library);
}
OMPTOOL_EXPORT void omptarget_unregister_lib(__tgt_bin_desc* descriptor) {
  unregister_library(descriptor);
}
OMPTOOL_EXPORT_AS(omptarget_register_lib, "__tgt_register_lib@OMPTARGET_4.5");
OMPTOOL_EXPORT_AS(omptarget_unregister_lib, "__tgt_unregister_lib@OMPTARGET_4.5");

// ---- events ----

OMPTOOL_EXPORT void __tgt_init_dep(tgt_callback_fct callback) {
  outstanding::set_callback(callback);
}
OMPTOOL_EXPORT int32_t __tgt_enforce_dep(int32_t from, int32_t to, tgt_event_t event) {
  return guarded(__func__, [&]() -> int32_t { return enforces("__tgt_enforce_dep", from, to, event); });
}
OMPTOOL_EXPORT void __tgt_release_dep(tgt_event_t event) {
  guarded(__func__, [&] { release_event("__tgt_release_dep", event); });
}
OMPTOOL_EXPORT int32_t __tgt_process_dep(void) {
  return guarded(__func__, []() -> int32_t { return outstanding::process(); });
}

// ---- data ----

// A function, and that which goes on when it has returned.
#define OMPTOOL_DATA(function, asynchronous, action)                                                                   \
  OMPTOOL_EXPORT void function(int32_t device, int32_t count, void** bases, void** begins, int64_t* sizes,             \
                               int32_t* types) {                                                                       \
    on_data(action, __func__, __builtin_return_address(0), Arrays{device, count, bases, begins, sizes, types});        \
  }                                                                                                                    \
  OMPTOOL_EXPORT void asynchronous(int32_t device, int32_t count, void** bases, void** begins, int64_t* sizes,         \
                                   int32_t* types, int32_t awaited_count, tgt_event_t* awaited,                        \
                                   tgt_event_t* completion, tgt_callback_param_t param) {                              \
    const Later later{__func__, awaited_count, awaited, completion, param};                                            \
    on_data(action, __func__, __builtin_return_address(0), Arrays{device, count, bases, begins, sizes, types},         \
            &later);                                                                                                   \
  }
OMPTOOL_DATA(__tgt_target_data_begin, __tgt_target_async_data_begin, Action::kEnterData)
OMPTOOL_DATA(__tgt_target_data_end, __tgt_target_async_data_end, Action::kExitData)
OMPTOOL_DATA(__tgt_target_data_update, __tgt_target_async_data_update, Action::kUpdate)
#undef OMPTOOL_DATA

// ---- regions ----

OMPTOOL_EXPORT int32_t __tgt_target(int32_t device, void* entry, int32_t count, void** bases, void** begins,
                                    int64_t* sizes, int32_t* types) {
  return on_region(__func__, __builtin_return_address(0), entry, Arrays{device, count, bases, begins, sizes, types});
}
OMPTOOL_EXPORT int32_t __tgt_target_teams(int32_t device, void* entry, int32_t count, void** bases, void** begins,
                                          int64_t* sizes, int32_t* types, int32_t teams, int32_t threads) {
  return on_region(__func__, __builtin_return_address(0), entry, Arrays{device, count, bases, begins, sizes, types},
                   shape_of_teams(teams, threads));
}
OMPTOOL_EXPORT int32_t __tgt_target_async(int32_t device, void* entry, int32_t count, void** bases, void** begins,
                                          int64_t* sizes, int32_t* types, int32_t awaited_count, tgt_event_t* awaited,
                                          tgt_event_t* completion, tgt_callback_param_t param) {
  const Later later{__func__, awaited_count, awaited, completion, param};
  return on_region(__func__, __builtin_return_address(0), entry, Arrays{device, count, bases, begins, sizes, types}, {},
                   &later);
}
OMPTOOL_EXPORT int32_t __tgt_target_async_teams(int32_t device, void* entry, int32_t count, void** bases, void** begins,
                                                int64_t* sizes, int32_t* types, int32_t teams, int32_t threads,
                                                int32_t awaited_count, tgt_event_t* awaited, tgt_event_t* completion,
                                                tgt_callback_param_t param) {
  const Later later{__func__, awaited_count, awaited, completion, param};
  return on_region(__func__, __builtin_return_address(0), entry, Arrays{device, count, bases, begins, sizes, types},
                   shape_of_teams(teams, threads), &later);
}
}
} // namespace omptool
