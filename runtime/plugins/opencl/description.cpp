// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device says of itself.
#include "driver.h"

#include <algorithm>
#include <cstring>

namespace omptool::opencl {
namespace {

template <std::size_t kSize> void put(const std::string& text, char (&place)[kSize]) {
  place[text.copy(place, kSize - 1)] = '\0';
}

tgt_device_description description_of(const Found& found) {
  tgt_device_description all{};
  all.units = found.units;
  all.memory = found.global_memory;
  all.team_memory = found.team_memory;
  all.threads = static_cast<std::uint32_t>(found.most_threads);
  put(found.spirv, all.architecture);
  put(found.name, all.name);
  return all;
}

} // namespace
} // namespace omptool::opencl

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_describe_device(int32_t device_id, tgt_device_description* description) {
  return omptool::safely(1, [&] {
    const omptool::opencl::Device* const device = omptool::opencl::device_of(device_id);
    if (!device)
      return 1;
    tgt_device_description known = omptool::opencl::description_of(device->found());
    known.size = description->size;
    std::memcpy(description, &known, std::min<std::size_t>(known.size, sizeof known));
    return 0;
  });
}
