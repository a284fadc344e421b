// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of a plugin's file, by name.
#pragma once

#include "rtl/rtl.h"

#include <dlfcn.h>
#include <string>

namespace omptool {

struct RtlSymbols {
  void* handle;
  std::string missing = {}; // the required ones that are not there
  bool found_none = true;   // of the required ones

  template <typename Function> bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
  }
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

} // namespace omptool
