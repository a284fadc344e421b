// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface document's synchronous calls: int32_t map types, exported as @@OMPTARGET_4.5. The
// registration functions share their names with LLVM's and are @OMPTARGET_4.5 (decision 4).
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/exports.h"
#include "abi/interface/arrays.h"
#include "abi/llvm/narrator.h"
#include "offload/offload.h"

#include <string>

namespace omptool {
namespace {

// ---- registered libraries ----

// Returns why a descriptor cannot be used, or "".
std::string fault_of(const __tgt_bin_desc& descriptor) {
  if (!is_range(descriptor.EntriesBegin, descriptor.EntriesEnd))
    return "its entry table does not end where an entry ends";
  if (std::string fault = fault_of_images(descriptor.NumDevices, descriptor.DeviceImages); !fault.empty())
    return fault;
  for (std::uint32_t i = 0; i < descriptor.NumDevices; ++i)
    if (const __tgt_device_image& image = descriptor.DeviceImages[i];
        !is_range(static_cast<const char*>(image.ImageStart), static_cast<const char*>(image.ImageEnd)))
      return fault_of_bounds(i);
  return {};
}

std::string read_library(const void* address, LibraryContents& contents) {
  const __tgt_bin_desc& descriptor = *static_cast<const __tgt_bin_desc*>(address);
  if (std::string fault = fault_of(descriptor); !fault.empty())
    return fault;
  for (const __tgt_offload_entry& entry : std::span(descriptor.EntriesBegin, descriptor.EntriesEnd))
    contents.table.add(entry);
  for (std::uint32_t i = 0; i < descriptor.NumDevices; ++i)
    contents.images.push_back({descriptor.DeviceImages[i].ImageStart, descriptor.DeviceImages[i].ImageEnd});
  return {};
}

} // namespace
} // namespace omptool

using omptool::on_data;
using omptool::on_region;
using omptool::document::Action;
using omptool::document::Arrays;
using omptool::document::call_of;

extern "C" {

OMPTOOL_EXPORT void omptarget_register_lib(__tgt_bin_desc* descriptor) {
  omptool::guarded("__tgt_register_lib", [&] {
    omptool::llvm::read_info();
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
  on_data(call_of(Action::kEnterData, __func__, __builtin_return_address(0)), device_id,
          Arrays{num_args, args_base, args, args_size, args_maptype}, omptool::DataAction::kBegin);
}

OMPTOOL_EXPORT void __tgt_target_data_end(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                          int64_t* args_size, int32_t* args_maptype) {
  on_data(call_of(Action::kExitData, __func__, __builtin_return_address(0)), device_id,
          Arrays{num_args, args_base, args, args_size, args_maptype}, omptool::DataAction::kEnd);
}

OMPTOOL_EXPORT void __tgt_target_data_update(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                             int64_t* args_size, int32_t* args_maptype) {
  on_data(call_of(Action::kUpdate, __func__, __builtin_return_address(0)), device_id,
          Arrays{num_args, args_base, args, args_size, args_maptype}, omptool::DataAction::kUpdate);
}

OMPTOOL_EXPORT int32_t __tgt_target(int32_t device_id, void* host_addr, int32_t num_args, void** args_base, void** args,
                                    int64_t* args_size, int32_t* args_maptype) {
  return on_region(call_of(Action::kRegion, __func__, __builtin_return_address(0), host_addr), device_id,
                   Arrays{num_args, args_base, args, args_size, args_maptype}, {});
}

OMPTOOL_EXPORT int32_t __tgt_target_teams(int32_t device_id, void* host_addr, int32_t num_args, void** args_base,
                                          void** args, int64_t* args_size, int32_t* args_maptype, int32_t num_teams,
                                          int32_t thread_limit) {
  return on_region(call_of(Action::kRegion, __func__, __builtin_return_address(0), host_addr, num_teams), device_id,
                   Arrays{num_args, args_base, args, args_size, args_maptype},
                   omptool::shape_of_teams(num_teams, thread_limit));
}
}
