// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/registration.h"

#include "abi/exports.h"
#include "abi/info/info.h"
#include "devices/registry.h"

namespace omptool {

void register_library(const void* descriptor, LibraryReader read) noexcept {
  guarded("__tgt_register_lib", [&] {
    info::read_info();
    if (descriptor)
      Registry::obtain().add(descriptor, read);
  });
}

void unregister_library(const void* descriptor) noexcept {
  guarded("__tgt_unregister_lib", [&] {
    Registry* const registry = Registry::current();
    if (!registry || !descriptor)
      return;
    if (info::informs(info::kInfoTable) && registry->is_last(descriptor))
      info::tell_tables();
    registry->remove(descriptor);
  });
}

} // namespace omptool
