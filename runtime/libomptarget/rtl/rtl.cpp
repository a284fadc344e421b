// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/rtl.h"

#include "counted.h"
#include "process/environment.h"
#include "process/message.h"
#include "process/own_file.h"
#include "rtl/proposal_adapter.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <system_error>

namespace omptool {
namespace {

constexpr int kMostDevices = 1024; // more is a broken plugin, not a machine
constexpr std::string_view kPrefix = "libomptarget.rtl.";
constexpr std::string_view kSuffix = ".so";
constexpr std::string_view kOwnName = "libomptarget.so";

// Extracts a plugin's name: "libomptarget.rtl.host.so" -> "host"; empty for any other file.
std::string plugin_name(const std::string& file) {
  const std::string_view name = file;
  if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) || !name.ends_with(kSuffix))
    return {};
  return std::string(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
}

// Returns the folders in which to look for plugins, in this order.
std::vector<std::string> plugin_folders() {
  std::vector<std::string> folders = environment().plugin_path;
  folders.push_back(own_folder());
  return folders;
}

// Returns why there is nothing to be read, or "".
std::string add_from(const std::string& folder, std::map<std::string, std::string>& paths) {
  DIR* const open = ::opendir(folder.c_str());
  if (!open)
    return std::generic_category().message(errno);
  while (const dirent* file = ::readdir(open)) {
    const std::string name = plugin_name(file->d_name);
    if (!name.empty())
      paths.emplace(name, folder + "/" + file->d_name);
  }
  ::closedir(open);
  return {};
}

template <typename First, typename Second> void both_or_neither(First& first, Second& second) {
  if (first && second)
    return;
  first = nullptr;
  second = nullptr;
}

} // namespace

Rtl::Rtl(std::string name, std::string path) : name_(std::move(name)), path_(std::move(path)) {
  // Opens the plugin for good: it may have threads, and devices outlive every library.
  void* handle = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle)
    bind(handle);
  else
    refusal_ = ::dlerror();
}

void Rtl::bind(void* handle) {
  if (proposal::is_plugin(handle)) {
    refusal_ = proposal::adapt(handle, functions_);
    return;
  }
  RtlSymbols symbols{handle};
  symbols.require_common(functions_);
  symbols.require("__tgt_rtl_is_valid_binary", functions_.is_valid_binary);
  if (!symbols.missing.empty()) {
    refusal_ = "it lacks " + symbols.missing;
    return;
  }
#define OMPTOOL_RTL_FIND(function) symbols.find("__tgt_rtl_" #function, functions_.function);
  OMPTOOL_RTL_OPTIONAL(OMPTOOL_RTL_FIND)
  both_or_neither(functions_.memory_alloc, functions_.memory_free);
  both_or_neither(functions_.host_lock, functions_.host_unlock);
  bind_queues(handle);
}

// Binds the asynchronous functions, all or none (decision 11).
void Rtl::bind_queues(void* handle) {
  RtlSymbols symbols{handle};
  RtlFunctions functions = functions_;
#define OMPTOOL_RTL_REQUIRE(function) symbols.require("__tgt_rtl_" #function, functions.function);
  OMPTOOL_RTL_QUEUES(OMPTOOL_RTL_REQUIRE)
  if (symbols.found_none)
    return;
  if (!symbols.missing.empty()) {
    queues_lack_ = symbols.missing;
    return;
  }
  functions_ = functions;
  OMPTOOL_RTL_OPTIONAL_QUEUES(OMPTOOL_RTL_FIND)
}

const std::string& Rtl::refusal() const {
  return refusal_.empty() && counted() ? count_refusal_ : refusal_;
}

int Rtl::device_count() {
  if (!refusal_.empty())
    return 0;
  if (counted())
    return device_count_;
  const int count = functions_.number_of_devices();
  std::string reason = count > 0 ? std::string() : last_error();
  const std::lock_guard lock(counting_);
  if (counted())
    return device_count_;
  has_failed_ = count < 0 && !reason.empty();
  if (has_failed_)
    count_refusal_ = reason.substr(2, reason.size() - 3); // without its parentheses
  else if (count < 0 || count > kMostDevices)
    count_refusal_ = "it counts " + omptool::counted(count, "device") + reason;
  else
    device_count_ = count;
  why_none_ = std::move(reason);
  counted_.store(true, std::memory_order_release);
  return device_count_;
}

std::optional<tgt_device_description> Rtl::describe(std::int32_t rtl_id) const {
  tgt_device_description said{};
  said.size = sizeof said;
  if (!functions_.describe_device || functions_.describe_device(rtl_id, &said) != 0)
    return std::nullopt;
  for (const std::span<char> text :
       {std::span<char>(said.architecture), std::span<char>(said.name), std::span<char>(said.driver),
        std::span<char>(said.images), std::span<char>(said.node), std::span<char>(said.title)})
    text.back() = '\0';
  return said;
}

std::string Rtl::title_of(std::int32_t rtl_id) const {
  const std::optional<tgt_device_description> said = describe(rtl_id);
  return said && said->title[0] ? said->title : name_;
}

std::string Rtl::last_error() const {
  const char* reason = functions_.last_error ? functions_.last_error() : nullptr;
  return reason ? std::string(" (") + reason + ")" : std::string();
}

std::vector<PluginFile> plugin_files(std::vector<UnreadFolder>* unread) {
  std::map<std::string, std::string> paths;
  const std::vector<std::string> folders = plugin_folders();
  for (const std::string& folder : folders)
    if (std::string reason = add_from(folder, paths); unread && !reason.empty() && &folder != &folders.back())
      unread->push_back({folder, std::move(reason)});

  const std::vector<std::string>& only = environment().plugins;
  static std::atomic<bool> reported{false}; // threads may look at once
  const bool first = !reported.exchange(true);
  for (const std::string& name : only)
    if (first && !paths.contains(name))
      say("OMPTOOL_PLUGINS names %s, but no %s%s%s was found", name.c_str(), kPrefix.data(), name.c_str(),
          kSuffix.data());

  std::vector<PluginFile> files;
  for (const std::string& name : only)
    if (const auto found = paths.extract(name)) // a name that is there twice counts once
      files.push_back({name, found.mapped()});
  if (only.empty())
    for (const auto& [name, path] : paths)
      files.push_back({name, path});
  return files;
}

std::vector<std::unique_ptr<Rtl>> find_rtls(std::vector<UnreadFolder>* unread) {
  std::vector<std::unique_ptr<Rtl>> plugins;
  for (const PluginFile& file : plugin_files(unread))
    plugins.push_back(std::make_unique<Rtl>(file.name, file.path));
  return plugins;
}

std::string why_no_plugin() {
  std::string folders;
  for (const std::string& folder : plugin_folders())
    folders += (folders.empty() ? "" : ", ") + folder;
  if (!environment().plugins.empty())
    return "no plugin that OMPTOOL_PLUGINS names is in " + folders;
  const std::string path = own_path();
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string cure = name == kOwnName
                               ? "copy omptool's beside " + path + ", or name their folder in OMPTOOL_PLUGIN_PATH"
                               : name + " was renamed when it was packaged: package " + std::string(kOwnName) +
                                     ", its plugins and libomp together, under their own names (docs/packaging.md)";
  return "no plugin (" + std::string(kPrefix) + "*" + std::string(kSuffix) + ") is in " + folders + ": " + cure;
}

} // namespace omptool
