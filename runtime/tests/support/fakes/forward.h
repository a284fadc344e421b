// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the host plugin, by a copy of it, for fakes that change some of them.
#pragma once

#include "omptarget_rtl.h"

#include <cstdlib>
#include <dlfcn.h>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

inline void* host_symbol(const char* name) {
  static void* const plugin = dlopen(HOST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  void* const found = plugin ? dlsym(plugin, name) : nullptr;
  if (!found)
    std::abort();
  return found;
}

// HOST(name)(arguments): the host plugin's function of that name.
#define HOST(name) (reinterpret_cast<decltype(&name)>(host_symbol(#name)))
