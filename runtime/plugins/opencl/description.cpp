// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device says of itself.
#include "common/description.h"
#include "driver.h"

namespace omptool::opencl {
namespace {

tgt_device_description description_of(const Found& found) {
  tgt_device_description all{};
  all.units = found.units;
  all.memory = found.global_memory;
  all.team_memory = found.team_memory;
  all.threads = static_cast<std::uint32_t>(found.most_threads);
  put(found.spirv, all.architecture);
  put(found.name, all.name);
  put(found.driver, all.driver);
  put("SPIR-V, native, bitcode", all.images);
  return all;
}

} // namespace
} // namespace omptool::opencl

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_describe_device(int32_t device_id, tgt_device_description* description) {
  return omptool::safely(1, [&] {
    const omptool::opencl::Device* const device = omptool::opencl::device_of(device_id);
    if (!device)
      return 1;
    omptool::answer(omptool::opencl::description_of(device->found()), *description);
    return 0;
  });
}
