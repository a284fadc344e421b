// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this CPU is.
#include "host.h"
#include "processor.h"

#include <algorithm>
#include <cstring>
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

template <std::size_t kSize> void put(std::string_view text, char (&place)[kSize]) {
  place[text.copy(place, kSize - 1)] = '\0';
}

tgt_device_description description() {
  tgt_device_description all{};
  all.units = Pool::hardware_threads();
  all.memory = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
               static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
  put(kArchitecture, all.architecture);
  put(processor_name(), all.name);
  return all;
}

} // namespace
} // namespace omptool::host

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_describe_device(int32_t device_id, tgt_device_description* description) {
  return omptool::host::guarded(device_id, 1, [&](omptool::host::Device&) {
    tgt_device_description known = omptool::host::description();
    known.size = description->size;
    std::memcpy(description, &known, std::min<std::size_t>(known.size, sizeof known));
    return 0;
  });
}
