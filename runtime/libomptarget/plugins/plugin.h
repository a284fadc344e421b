// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target RTLs: found by file name, checked for the interface of omptarget_rtl.h, called through a
// table of functions. A plugin that cannot be used stays in the list with the reason.
#pragma once

#include "omptarget_rtl.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace omptool {

struct PluginFunctions {
  decltype(&__tgt_rtl_number_of_devices) number_of_devices = nullptr;
  decltype(&__tgt_rtl_is_valid_binary) is_valid_binary = nullptr;
  decltype(&__tgt_init_device) init_device = nullptr;
  decltype(&__tgt_rtl_load_binary) load_binary = nullptr;
  decltype(&__tgt_rtl_data_alloc) data_alloc = nullptr;
  decltype(&__tgt_rtl_data_submit) data_submit = nullptr;
  decltype(&__tgt_rtl_data_retrieve) data_retrieve = nullptr;
  decltype(&__tgt_rtl_data_delete) data_delete = nullptr;
  decltype(&__tgt_rtl_run_target_region) run_target_region = nullptr;
  decltype(&__tgt_rtl_run_target_team_region) run_target_team_region = nullptr;
  // Optional.
  decltype(&__tgt_rtl_shares_host_memory) shares_host_memory = nullptr;
  decltype(&__tgt_rtl_memory_is_addressable) memory_is_addressable = nullptr;
  decltype(&__tgt_rtl_moves_like_memmove) moves_like_memmove = nullptr;
  decltype(&__tgt_rtl_unload_binary) unload_binary = nullptr;
  decltype(&__tgt_rtl_last_error) last_error = nullptr;
};

class Plugin {
public:
  // Opens the file and checks its symbols; `refusal()` says what is wrong with it.
  Plugin(std::string name, std::string path);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  const PluginFunctions& call() const { return functions_; }
  const std::string& refusal() const; // empty: usable

  // The number of devices, asked for when first needed: a GPU's driver is not woken for a program
  // without images for it. Threads that come at once may each ask, since the driver may need the dynamic
  // linker and a constructor that calls this has it locked; the first answer counts.
  int device_count();
  bool counted() const { return counted_.load(std::memory_order_acquire); }
  // Why the last call on this thread failed, as far as the plugin says: " (reason)" or "".
  std::string last_error() const;

private:
  void bind(void* handle);

  std::string name_;
  std::string path_;
  PluginFunctions functions_;
  std::string refusal_; // of the file
  std::mutex counting_; // held to note the answer
  std::atomic<bool> counted_{false};
  std::string count_refusal_; // before counted_
  int device_count_ = 0;      // before counted_
};

// A folder of OMPTOOL_PLUGIN_PATH that nobody can look into, and why.
struct UnreadFolder {
  std::string path;
  std::string reason;
};

// The file of a plugin, which nobody has opened yet.
struct PluginFile {
  std::string name;
  std::string path;
};

// Those of OMPTOOL_PLUGIN_PATH and of this library's own folder, in name order; the first of a name wins.
// OMPTOOL_PLUGINS leaves out the others.
std::vector<PluginFile> plugin_files(std::vector<UnreadFolder>& unread);

// The plugins in these files.
std::vector<std::unique_ptr<Plugin>> find_plugins(std::vector<UnreadFolder>& unread);

} // namespace omptool
