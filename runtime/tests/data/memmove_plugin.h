// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "rtl/rtl.h"

#include <cstdint>
#include <cstdlib>

// No file: the functions that data needs.
struct MemmovePlugin {
  MemmovePlugin() : plugin("memmove", "/nowhere") {
    auto& functions = const_cast<omptool::RtlFunctions&>(plugin.call());
    functions.data_alloc = [](std::int32_t, std::int64_t size) { return std::malloc(static_cast<std::size_t>(size)); };
    functions.data_delete = [](std::int32_t, void* target) -> std::int32_t { return std::free(target), 0; };
    functions.moves_like_memmove = [](std::int32_t) -> std::int32_t { return 1; };
    functions.shares_host_memory = [](std::int32_t) -> std::int32_t { return 0; };
  }
  omptool::Rtl plugin;
};
