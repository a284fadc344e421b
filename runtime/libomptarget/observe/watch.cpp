// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/watch.h"

namespace omptool {

constinit std::atomic<std::uint64_t> watched{kWatchUndecided};

} // namespace omptool
