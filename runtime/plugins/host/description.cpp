// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this CPU is.
#include "common/description.h"
#include "host.h"
#include "processor.h"

#include <algorithm>
#include <string_view>
#include <unistd.h>

namespace omptool::host {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86-64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#else
constexpr std::string_view kArchitecture;
#endif

tgt_device_description description() {
  tgt_device_description all{};
  all.units = Pool::hardware_threads();
  all.memory = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
               static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
  put(kArchitecture, all.architecture);
  put(processor_name(), all.name);
  put("ELF, bitcode", all.images);
  return all;
}

} // namespace
} // namespace omptool::host

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_describe_device(int32_t device_id, tgt_device_description* description) {
  return omptool::host::guarded(device_id, 1, [&](omptool::host::Device&) {
    omptool::answer(omptool::host::description(), *description);
    return 0;
  });
}
