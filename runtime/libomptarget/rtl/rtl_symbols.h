// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of a plugin's file, by name.
#pragma once

#include <dlfcn.h>
#include <string>

namespace omptool {

class RtlSymbols {
public:
  explicit RtlSymbols(void* handle) : handle_(handle) {}

  template <typename Function> bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    return function != nullptr;
  }
  template <typename Function> void require(const char* name, Function& function) {
    if (find(name, function))
      found_none_ = false;
    else
      missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
  }
  // Requires the functions that both interfaces have under the same names.
  template <typename Functions> void require_common(Functions& functions) {
    require("__tgt_rtl_number_of_devices", functions.number_of_devices);
    if (!find("__tgt_rtl_init_device", functions.init_device)) // decision 11
      require("__tgt_init_device", functions.init_device);
    require("__tgt_rtl_load_binary", functions.load_binary);
    require("__tgt_rtl_data_alloc", functions.data_alloc);
    require("__tgt_rtl_data_submit", functions.data_submit);
    require("__tgt_rtl_data_retrieve", functions.data_retrieve);
    require("__tgt_rtl_data_delete", functions.data_delete);
    require("__tgt_rtl_run_target_region", functions.run_target_region);
    require("__tgt_rtl_run_target_team_region", functions.run_target_team_region);
  }
  // The asynchronous ones.
  template <typename Functions> void require_queues(Functions& functions) {
    require("__tgt_rtl_init_dep", functions.init_dep);
    require("__tgt_rtl_enforce_dep", functions.enforce_dep);
    require("__tgt_rtl_release_dep", functions.release_dep);
    require("__tgt_rtl_process_dep", functions.process_dep);
    require("__tgt_rtl_async_dep", functions.async_dep);
    require("__tgt_rtl_async_data_submit", functions.async_data_submit);
    require("__tgt_rtl_async_data_retrieve", functions.async_data_retrieve);
    require("__tgt_rtl_async_run_target_region", functions.async_run_target_region);
    require("__tgt_rtl_async_run_target_team_region", functions.async_run_target_team_region);
  }
  // The required ones that are not there, or "".
  const std::string& missing() const { return missing_; }
  // Returns whether none of the required ones is there.
  bool found_none() const { return found_none_; }

private:
  void* handle_;
  std::string missing_;
  bool found_none_ = true;
};

} // namespace omptool
