// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/exports.h"
#include "omptool_plugins.h"
#include "rtl/plugin.h"

extern "C" OMPTOOL_EXPORT int32_t omptool_describe_plugins(void (*row)(void* context, const char* name,
                                                                       const char* path, const char* state,
                                                                       const char* reason, int32_t devices),
                                                           void* context) {
  return omptool::guarded(__func__, [&] {
    std::vector<omptool::UnreadFolder> unread;
    const std::vector<std::unique_ptr<omptool::Plugin>> plugins = omptool::find_plugins(unread);
    for (const omptool::UnreadFolder& folder : unread)
      row(context, "OMPTOOL_PLUGIN_PATH", folder.path.c_str(), "refused", folder.reason.c_str(), 0);
    for (const std::unique_ptr<omptool::Plugin>& plugin : plugins) {
      const int devices = plugin->device_count();
      const std::string none = "it has no devices" + plugin->why_none();
      const bool refused = !plugin->refusal().empty();
      row(context, plugin->name().c_str(), plugin->path().c_str(),
          refused   ? "refused"
          : devices ? "ready"
                    : "no devices",
          refused   ? plugin->refusal().c_str()
          : devices ? nullptr
                    : none.c_str(),
          devices);
    }
    return static_cast<int32_t>(plugins.size());
  });
}

extern "C" OMPTOOL_EXPORT int32_t omptool_describe_devices(void (*row)(void* context, const char* plugin,
                                                                       int32_t device,
                                                                       const tgt_device_description* description),
                                                           void* context) {
  return omptool::guarded(__func__, [&] {
    std::int32_t described = 0;
    std::vector<omptool::UnreadFolder> unread;
    for (const std::unique_ptr<omptool::Plugin>& plugin : omptool::find_plugins(unread))
      for (std::int32_t device = 0; device < plugin->device_count(); ++device)
        if (const std::optional<tgt_device_description> said = plugin->describe(device)) {
          row(context, plugin->name().c_str(), device, &*said);
          ++described;
        }
    return described;
  });
}

extern "C" OMPTOOL_EXPORT int32_t omptool_list_plugins(void (*row)(void* context, const char* name, const char* path),
                                                       void* context) {
  return omptool::guarded(__func__, [&] {
    std::vector<omptool::UnreadFolder> unread;
    const std::vector<omptool::PluginFile> files = omptool::plugin_files(unread);
    for (const omptool::PluginFile& file : files)
      row(context, file.name.c_str(), file.path.c_str());
    return static_cast<int32_t>(files.size());
  });
}

extern "C" OMPTOOL_EXPORT int32_t omptool_try_image(const void* image, uint64_t size, int32_t has_names,
                                                    void (*row)(void* context, const char* name, int32_t accepts,
                                                                const char* reason),
                                                    void* context) {
  return omptool::guarded(__func__, [&] {
    auto* const begin = static_cast<char*>(const_cast<void*>(image));
    char name[] = "a kernel";
    __tgt_offload_entry entry{nullptr, has_names ? name : nullptr, 0};
    __tgt_device_image asked{begin, begin + size, &entry, &entry + 1};
    std::int32_t accepted = 0;
    std::vector<omptool::UnreadFolder> unread;
    for (const std::unique_ptr<omptool::Plugin>& plugin : omptool::find_plugins(unread)) {
      if (!plugin->refusal().empty()) {
        row(context, plugin->name().c_str(), 0, plugin->refusal().c_str());
        continue;
      }
      const bool accepts = plugin->call().is_valid_binary(&asked) != 0;
      const std::string reason = accepts ? std::string() : plugin->last_error();
      row(context, plugin->name().c_str(), accepts, reason.c_str());
      accepted += accepts ? 1 : 0;
    }
    return accepted;
  });
}
