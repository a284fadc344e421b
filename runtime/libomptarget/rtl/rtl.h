// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target RTLs: found by file name, checked for the interface of omptarget_rtl.h, called through a
// table of functions. A plugin that cannot be used stays in the list with the reason.
#pragma once

#include "held_locks.h"
#include "omptarget_rtl.h"

#include <atomic>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace omptool {

// The functions of plugins, by what follows "__tgt_rtl_". Those that both interfaces have:
#define OMPTOOL_RTL_COMMON(X)                                                                                          \
  X(number_of_devices)                                                                                                 \
  X(load_binary)                                                                                                       \
  X(data_alloc)                                                                                                        \
  X(data_submit)                                                                                                       \
  X(data_retrieve)                                                                                                     \
  X(data_delete)                                                                                                       \
  X(run_target_region)                                                                                                 \
  X(run_target_team_region)
// The asynchronous ones: all of them or none.
#define OMPTOOL_RTL_QUEUES(X)                                                                                          \
  X(init_dep)                                                                                                          \
  X(enforce_dep)                                                                                                       \
  X(release_dep)                                                                                                       \
  X(process_dep)                                                                                                       \
  X(async_dep)                                                                                                         \
  X(async_data_submit)                                                                                                 \
  X(async_data_retrieve)                                                                                               \
  X(async_run_target_region)                                                                                           \
  X(async_run_target_team_region)
// Optional functions of plugins. omptarget_rtl.h names the fallback of each.
#define OMPTOOL_RTL_OPTIONAL(X)                                                                                        \
  X(shares_host_memory)                                                                                                \
  X(memory_is_addressable)                                                                                             \
  X(reaches_host_memory)                                                                                               \
  X(moves_like_memmove)                                                                                                \
  X(load_indirect)                                                                                                     \
  X(unload_binary)                                                                                                     \
  X(last_error)                                                                                                        \
  X(last_compilation)                                                                                                  \
  X(describe_device)                                                                                                   \
  X(run_shaped)                                                                                                        \
  X(kernels_make_teams)                                                                                                \
  X(takes_shape)                                                                                                       \
  X(opens_parallel)                                                                                                    \
  X(data_fill)                                                                                                         \
  X(data_exchange)                                                                                                     \
  X(data_copy_rectangle)                                                                                               \
  X(memory_alloc)                                                                                                      \
  X(memory_free)                                                                                                       \
  X(host_lock)                                                                                                         \
  X(host_unlock)
// Optional functions of plugins with the asynchronous functions.
#define OMPTOOL_RTL_OPTIONAL_QUEUES(X)                                                                                 \
  X(wait_event)                                                                                                        \
  X(query_event)                                                                                                       \
  X(event_times)                                                                                                       \
  X(prefers_queues)                                                                                                    \
  X(in_kernel)                                                                                                         \
  X(async_run_shaped)                                                                                                  \
  X(async_data_fill)

// Functions of a plugin. In builds that check locks, each asserts that its caller holds none.
struct RtlFunctions {
#ifdef OMPTOOL_CHECK_LOCKS
#define OMPTOOL_RTL_NAMED(function, symbol)                                                                            \
  held_locks::PluginFunction<decltype(&symbol)> function{#symbol "()", nullptr};
#else
#define OMPTOOL_RTL_NAMED(function, symbol) decltype(&symbol) function = nullptr;
#endif
#define OMPTOOL_RTL_MEMBER(function) OMPTOOL_RTL_NAMED(function, __tgt_rtl_##function)
  OMPTOOL_RTL_COMMON(OMPTOOL_RTL_MEMBER)
  OMPTOOL_RTL_MEMBER(is_valid_binary)
  OMPTOOL_RTL_NAMED(init_device, __tgt_init_device)
  OMPTOOL_RTL_QUEUES(OMPTOOL_RTL_MEMBER)
  OMPTOOL_RTL_OPTIONAL(OMPTOOL_RTL_MEMBER)
  OMPTOOL_RTL_OPTIONAL_QUEUES(OMPTOOL_RTL_MEMBER)
#undef OMPTOOL_RTL_MEMBER
#undef OMPTOOL_RTL_NAMED
};

// Symbols of a plugin's file, by name.
struct RtlSymbols {
  void* handle;
  std::string missing = {}; // the required ones that are not there
  bool found_none = true;   // of the required ones

  template <typename Function> bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
  }
#ifdef OMPTOOL_CHECK_LOCKS
  template <typename Function> bool find(const char* name, held_locks::PluginFunction<Function>& function) const {
    return find(name, function.pointer());
  }
#endif
  template <typename Function> void require(const char* name, Function& function) {
    if (find(name, function))
      found_none = false;
    else
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  // Requires the functions that both interfaces have under the same names.
  template <typename Functions> void require_common(Functions& functions) {
    if (!find("__tgt_rtl_init_device", functions.init_device)) // decision 11
      require("__tgt_init_device", functions.init_device);
#define OMPTOOL_RTL_REQUIRE(function) require("__tgt_rtl_" #function, functions.function);
    OMPTOOL_RTL_COMMON(OMPTOOL_RTL_REQUIRE)
#undef OMPTOOL_RTL_REQUIRE
  }
};

class Completions;

class Rtl {
public:
  // Opens the file and checks its symbols; `refusal()` returns a fault of it.
  Rtl(std::string name, std::string path);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  const RtlFunctions& call() const { return functions_; }
  const std::string& refusal() const; // empty: usable
  // Returns whether it has the asynchronous functions.
  bool has_queues() const { return functions_.async_dep != nullptr; }
  // Asynchronous functions that are missing while others exist; then none is used.
  const std::string& queues_lack() const { return queues_lack_; }

  // The number of devices, asked for when first needed: a GPU's driver is not woken for a program
  // without images for it. Threads that come at once may each ask, since the driver may need the dynamic
  // linker and a constructor that calls this has it locked; the first answer counts.
  int device_count();
  // Returns why the plugin has no devices, if it reports that: " (reason)" or "". Valid once they are counted.
  const std::string& why_none() const { return why_none_; }
  // Returns whether the plugin cannot provide devices that the user asked for; refusal() has the reason. Valid once
  // they are counted.
  bool has_failed() const { return counted() && has_failed_; }
  bool counted() const { return counted_.load(std::memory_order_acquire); }
  // Describes a device in the plugin's terms. Returns nothing if the plugin has no description.
  std::optional<tgt_device_description> describe(std::int32_t rtl_id) const;
  // Returns what people are shown of one of its devices: the plugin's name, or of another process's device its title.
  std::string title_of(std::int32_t rtl_id) const;
  // Returns why the last call on this thread failed, if the plugin reports that: " (reason)" or "".
  std::string last_error() const;

private:
  friend class Completions;
  void bind(void* handle);
  void bind_queues(void* handle);

  std::string name_;
  std::string path_;
  RtlFunctions functions_;
  std::string refusal_; // of the file
  std::string queues_lack_;
  std::mutex counting_; // held to note the answer
  std::atomic<bool> counted_{false};
  std::string count_refusal_;          // before counted_
  std::string why_none_;               // before counted_
  int device_count_ = 0;               // before counted_
  bool has_failed_ = false;            // before counted_
  mutable std::timed_mutex listening_; // the turn to name the callback
  mutable std::atomic<Completions*> own_{nullptr};
  mutable std::atomic<Completions*> completions_{nullptr}; // `own_`, once the plugin has the callback
};

// Folder of OMPTOOL_PLUGIN_PATH that cannot be read, and the reason.
struct UnreadFolder {
  std::string path;
  std::string reason;
};

// Plugin file, not opened yet.
struct PluginFile {
  std::string name;
  std::string path;
};

// Returns the plugins of OMPTOOL_PLUGIN_PATH and of this library's own folder, in name order; the first of a name wins.
// If OMPTOOL_PLUGINS is set, it names the plugins and their order.
std::vector<PluginFile> plugin_files(std::vector<UnreadFolder>* unread = nullptr);

// Finds the plugins in these files.
std::vector<std::unique_ptr<Rtl>> find_rtls(std::vector<UnreadFolder>* unread = nullptr);

// Returns why a process has no plugin: the folders that were searched, and the remedy.
std::string why_no_plugin();

} // namespace omptool
