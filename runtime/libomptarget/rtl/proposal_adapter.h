// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plugins of libtarget_rtl.h (offload-infrastructure-proposal.txt, section 5), behind the functions
// that the core calls.
#pragma once

#include "rtl/rtl.h"

namespace omptool::proposal {

// Returns whether a library has what only section 5 requires, and not what only the later interface does.
bool is_plugin(void* handle);

// Fills in functions that call such a plugin. Returns why it cannot be used, or "".
std::string adapt(void* handle, RtlFunctions& functions);

} // namespace omptool::proposal
