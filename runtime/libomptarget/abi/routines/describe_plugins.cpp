// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/exports.h"
#include "omptool_plugins.h"
#include "rtl/rtl.h"

namespace omptool {
extern "C" {

OMPTOOL_EXPORT int32_t omptool_describe_plugins(void (*row)(void* context, const char* name, const char* path,
                                                            const char* state, const char* reason, int32_t devices),
                                                void* context) {
  return guarded(__func__, [&] {
    std::vector<UnreadFolder> unread;
    const std::vector<std::unique_ptr<Rtl>> rtls = find_rtls(&unread);
    for (const UnreadFolder& folder : unread)
      row(context, "OMPTOOL_PLUGIN_PATH", folder.path.c_str(), "refused", folder.reason.c_str(), 0);
    for (const std::unique_ptr<Rtl>& rtl : rtls) {
      const auto add = [&](const char* state, const char* reason, int devices) {
        row(context, rtl->name().c_str(), rtl->path().c_str(), state, reason, devices);
      };
      const int devices = rtl->device_count();
      if (!rtl->refusal().empty())
        add("refused", rtl->refusal().c_str(), devices);
      else if (devices != 0)
        add("ready", nullptr, devices);
      else
        add("no devices", ("it has no devices" + rtl->why_none()).c_str(), devices);
    }
    return static_cast<int32_t>(rtls.size());
  });
}

OMPTOOL_EXPORT int32_t omptool_describe_devices(void (*row)(void* context, const char* rtl, int32_t device,
                                                            const tgt_device_description* description),
                                                void* context) {
  return guarded(__func__, [&] {
    std::int32_t described = 0;
    for (const std::unique_ptr<Rtl>& rtl : find_rtls())
      for (std::int32_t device = 0; device < rtl->device_count(); ++device)
        if (const std::optional<tgt_device_description> said = rtl->describe(device)) {
          row(context, rtl->name().c_str(), device, &*said);
          ++described;
        }
    return described;
  });
}

OMPTOOL_EXPORT int32_t omptool_list_plugins(void (*row)(void* context, const char* name, const char* path),
                                            void* context) {
  return guarded(__func__, [&] {
    const std::vector<PluginFile> files = plugin_files();
    for (const PluginFile& file : files)
      row(context, file.name.c_str(), file.path.c_str());
    return static_cast<int32_t>(files.size());
  });
}

OMPTOOL_EXPORT int32_t omptool_try_image(const void* image, uint64_t size, int32_t has_names,
                                         void (*row)(void* context, const char* name, int32_t accepts,
                                                     const char* reason),
                                         void* context) {
  return guarded(__func__, [&] {
    auto* const begin = static_cast<char*>(const_cast<void*>(image));
    char name[] = "a kernel";
    __tgt_offload_entry entry{nullptr, has_names ? name : nullptr, 0};
    __tgt_device_image asked{begin, begin + size, &entry, &entry + 1};
    std::int32_t accepted = 0;
    for (const std::unique_ptr<Rtl>& rtl : find_rtls()) {
      const bool accepts = rtl->refusal().empty() && rtl->call().is_valid_binary(&asked) != 0;
      const std::string reason = accepts ? std::string() : rtl->refusal().empty() ? rtl->last_error() : rtl->refusal();
      row(context, rtl->name().c_str(), accepts, reason.c_str());
      accepted += accepts ? 1 : 0;
    }
    return accepted;
  });
}
}
} // namespace omptool
