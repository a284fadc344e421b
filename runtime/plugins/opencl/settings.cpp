// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace omptool::opencl {

MemoryKind wanted_memory() {
  static const MemoryKind wanted = [] {
    const char* const value = ::secure_getenv("OMPTOOL_OPENCL_MEMORY");
    if (!value || !*value)
      return MemoryKind::kAny;
    if (!std::strcmp(value, "usm"))
      return MemoryKind::kUsm;
    if (!std::strcmp(value, "device"))
      return MemoryKind::kDevice;
    if (!std::strcmp(value, "svm"))
      return MemoryKind::kSvm;
    if (!std::strcmp(value, "shared"))
      return MemoryKind::kShared;
    std::fprintf(stderr,
                 "omptarget: the runtime ignores OMPTOOL_OPENCL_MEMORY=%s; known values: usm, device, svm, shared\n",
                 value);
    return MemoryKind::kAny;
  }();
  return wanted;
}

} // namespace omptool::opencl
