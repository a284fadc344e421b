// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface document's synchronous calls: int32_t map types, exported as @@OMPTARGET_4.5. The
// registration functions share their names with LLVM's and are @OMPTARGET_4.5 (decision 4).
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/exports.h"
#include "offload/offload.h"
#include "process/per_row.h"

#include <cstdio>
#include <string>

namespace omptool {
namespace {

constexpr struct {
  std::int32_t type;
  std::uint32_t flags;
} kTranslation[] = {
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

std::uint32_t flags_of(std::int32_t type) {
  std::uint32_t flags = 0;
  for (const auto& row : kTranslation)
    if (type & row.type)
      flags |= row.flags;
  return flags;
}

struct Arrays {
  std::int32_t count;
  void** base;
  void** begin;
  std::int64_t* size;
  std::int32_t* type;
};

// What is wrong with row `i`, or null.
const char* fault_of(const Arrays& arrays, std::size_t i) {
  constexpr std::int32_t kKnown = 0x1ff;
  const std::int32_t type = arrays.type[i];
  if (type & ~kKnown)
    return "has an unknown bit in its map type";
  if (type & OMP_TGT_MAPTYPE_PRIVATE_VAL)
    return nullptr; // the value alone counts
  if (arrays.size[i] < 0)
    return "has a negative size";
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(arrays.begin[i]);
  if (arrays.size[i] > 0 && (begin == 0 || begin + static_cast<std::uintptr_t>(arrays.size[i]) < begin))
    return "names memory that cannot exist";
  if ((type & OMP_TGT_MAPTYPE_MAP_PTR) && !arrays.base[i])
    return "has MAP_PTR and no pointer";
  return nullptr;
}

std::string describe_fault(const char* call, const Arrays& arrays, std::size_t i, const char* fault) {
  char text[256];
  std::snprintf(text, sizeof text, "%s: row %zu %s (address %p, size %lld, type 0x%x)", call, i, fault, arrays.begin[i],
                static_cast<long long>(arrays.size[i]), static_cast<unsigned>(arrays.type[i]));
  return text;
}

// Calls `body(rows, fault)`; `fault` says which row is the first malformed one, or is "". In place of
// a malformed row stands one that names no more than the object around its base.
template <typename Body> void with_rows(const char* call, const Arrays& arrays, const Body& body) {
  if (arrays.count < 0 || (arrays.count > 0 && !(arrays.base && arrays.begin && arrays.size && arrays.type))) {
    body(Rows(), std::string(call) + ": " + std::to_string(arrays.count) + " rows, but not all four arrays");
    return;
  }
  std::string first_fault;
  PerRow<Row> rows(static_cast<std::size_t>(arrays.count));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* const fault = fault_of(arrays, i);
    if (fault && first_fault.empty())
      first_fault = describe_fault(call, arrays, i, fault);
    rows[i].base = arrays.base[i];
    if (!fault)
      rows[i] = {arrays.base[i], arrays.begin[i], arrays.size[i], flags_of(arrays.type[i]), &arrays.base[i]};
  }
  body(Rows(rows.data(), rows.size()), first_fault);
}

void on_data(const char* call, const Arrays& arrays, std::int64_t device_id, void (*action)(std::int64_t, Rows)) {
  guarded(call, [&] {
    with_rows(call, arrays, [&](Rows rows, const std::string& fault) {
      if (fault.empty())
        action(device_id, rows);
      else
        say("%s; the call is ignored", fault.c_str());
    });
  });
}

std::int32_t on_region(const char* call, const Arrays& arrays, std::int64_t device_id, const void* host_address,
                       LaunchShape shape) {
  return guarded(call, [&] {
    std::int32_t result = -1;
    with_rows(call, arrays, [&](Rows rows, const std::string& fault) {
      result = fault.empty() ? run_region(device_id, host_address, rows, shape)
                             : refuse_region(device_id, host_address, rows, fault);
    });
    return result;
  });
}

// ---- registered libraries ----

// Why a descriptor cannot be used, or null.
const char* fault_of(const __tgt_bin_desc& descriptor) {
  if (!is_range(descriptor.EntriesBegin, descriptor.EntriesEnd))
    return "its entry table does not end where an entry ends";
  if (descriptor.NumDevices > kMostImages)
    return "it counts more than 65536 images";
  if (descriptor.NumDevices && !descriptor.DeviceImages)
    return "it counts images but has none";
  for (std::uint32_t i = 0; i < descriptor.NumDevices; ++i)
    if (const __tgt_device_image& image = descriptor.DeviceImages[i];
        !is_range(static_cast<const char*>(image.ImageStart), static_cast<const char*>(image.ImageEnd)))
      return "an image ends before it begins";
  return nullptr;
}

const char* read_library(const void* address, LibraryContents& contents) {
  const __tgt_bin_desc& descriptor = *static_cast<const __tgt_bin_desc*>(address);
  if (const char* fault = fault_of(descriptor))
    return fault;
  for (const __tgt_offload_entry& entry : std::span(descriptor.EntriesBegin, descriptor.EntriesEnd)) {
    const EntryKind kind = entry.size == 0 ? EntryKind::kKernel : EntryKind::kGlobal;
    contents.table.add({entry.addr, entry.name, entry.size, kind, entry.size});
  }
  for (std::uint32_t i = 0; i < descriptor.NumDevices; ++i)
    contents.images.push_back({descriptor.DeviceImages[i].ImageStart, descriptor.DeviceImages[i].ImageEnd, false});
  return nullptr;
}

} // namespace
} // namespace omptool

extern "C" {

OMPTOOL_EXPORT void omptarget_register_lib(__tgt_bin_desc* descriptor) {
  omptool::guarded("__tgt_register_lib", [&] {
    if (descriptor)
      omptool::Registry::obtain().add(descriptor, omptool::read_library);
  });
}

OMPTOOL_EXPORT void omptarget_unregister_lib(__tgt_bin_desc* descriptor) {
  omptool::guarded("__tgt_unregister_lib", [&] {
    if (omptool::Registry* registry = omptool::Registry::current(); registry && descriptor)
      registry->remove(descriptor);
  });
}

OMPTOOL_EXPORT_AS(omptarget_register_lib, "__tgt_register_lib@OMPTARGET_4.5");
OMPTOOL_EXPORT_AS(omptarget_unregister_lib, "__tgt_unregister_lib@OMPTARGET_4.5");

OMPTOOL_EXPORT void __tgt_target_data_begin(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                            int64_t* args_size, int32_t* args_maptype) {
  omptool::on_data(__func__, {num_args, args_base, args, args_size, args_maptype}, device_id, omptool::data_begin);
}

OMPTOOL_EXPORT void __tgt_target_data_end(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                          int64_t* args_size, int32_t* args_maptype) {
  omptool::on_data(__func__, {num_args, args_base, args, args_size, args_maptype}, device_id, omptool::data_end);
}

OMPTOOL_EXPORT void __tgt_target_data_update(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                             int64_t* args_size, int32_t* args_maptype) {
  omptool::on_data(__func__, {num_args, args_base, args, args_size, args_maptype}, device_id, omptool::data_update);
}

OMPTOOL_EXPORT int32_t __tgt_target(int32_t device_id, void* host_addr, int32_t num_args, void** args_base, void** args,
                                    int64_t* args_size, int32_t* args_maptype) {
  return omptool::on_region(__func__, {num_args, args_base, args, args_size, args_maptype}, device_id, host_addr, {});
}

OMPTOOL_EXPORT int32_t __tgt_target_teams(int32_t device_id, void* host_addr, int32_t num_args, void** args_base,
                                          void** args, int64_t* args_size, int32_t* args_maptype, int32_t num_teams,
                                          int32_t thread_limit) {
  return omptool::on_region(__func__, {num_args, args_base, args, args_size, args_maptype}, device_id, host_addr,
                            {true, num_teams, thread_limit});
}
}
