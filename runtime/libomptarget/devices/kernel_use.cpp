// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/kernel_use.h"

namespace omptool {

void KernelUse::find_nested(const void* host_address) {
  nested_ = registry_.find_kernel(host_address);
  kernel_ = nested_.get();
}

} // namespace omptool
