// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/loaded_image.h"

#include "observe/sink.h"
#include "process/message.h"

namespace omptool {

LoadedImage::~LoadedImage() {
  if (constructed)
    if (const std::string failed = run_all(EntryKind::kDestructor); !failed.empty())
      say("the destructor %s could not run on %s%s", failed.c_str(), device.describe().c_str(),
          device.rtl.last_error().c_str());
  if (table && device.rtl.call().unload_binary && !device.memory.is_lost())
    device.rtl.call().unload_binary(device.rtl_id, &image);
}

std::string LoadedImage::run_all(EntryKind kind) const {
  const std::size_t count = entries->entries.size();
  for (std::size_t done = 0; done < count; ++done) {
    const std::size_t i = kind == EntryKind::kDestructor ? count - 1 - done : done; // as C++ destroys
    if (entries->entries[i].kind != kind)
      continue;
    void* const function = addresses[i];
    device.data.activity.note();
    const bool ran =
        function && device.rtl.call().run_target_team_region(device.rtl_id, function, nullptr, 0, 1, 1) == 0;
    observe::report(observe::ImageFunctionRan{device.number, name_of(entries->entries[i]), !ran});
    if (!ran)
      return name_of(entries->entries[i]);
  }
  return {};
}

std::string LoadedImage::disagreement(EnvironmentPlace environment) const {
  constexpr const char* kCalls[] = {"without a launch environment", "with a launch environment first",
                                    "with a launch environment first", "with a launch environment last"};
  return std::string("the program calls it ") + kCalls[static_cast<std::size_t>(environment)] +
         ", which the image for " + device.describe() + (compiler.empty() ? "" : ", compiled by ") + compiler +
         ", does not expect; compile both with one compiler";
}

} // namespace omptool
