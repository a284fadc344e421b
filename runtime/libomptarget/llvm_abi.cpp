// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of programs compiled by clang, version VERS1.0. This version of omptool does not offload
// their regions: each call succeeds in the way that makes the program run its host versions, and one
// line says so. LLVM's records are not looked at.
#include "environment.h"
#include "exports.h"

#include <atomic>
#include <cstdint>

namespace omptool {
namespace {

std::atomic<bool> told{false};

void not_offloaded() noexcept {
  switch (environment().policy) {
  case OffloadPolicy::kDisabled:
    return;
  case OffloadPolicy::kMandatory:
    die("a region of LLVM's ABI cannot run on a device: this version does not offload them, and OMP_TARGET_OFFLOAD is "
        "MANDATORY");
  case OffloadPolicy::kDefault:
    if (!told.exchange(true))
      say("regions of LLVM's ABI are not offloaded by this version: they run on the host");
  }
}

constexpr std::int32_t kOnHost = -1;

} // namespace
} // namespace omptool

extern "C" {

// Arguments that are not looked at are left out of the definitions; the C calling convention lets
// callers pass them all the same.
OMPTOOL_EXPORT void __tgt_register_lib(void*) {}
OMPTOOL_EXPORT void __tgt_unregister_lib(void*) {}
OMPTOOL_EXPORT void __tgt_register_requires(std::int64_t) {}
OMPTOOL_EXPORT void __tgt_rtl_init() {}
OMPTOOL_EXPORT void __tgt_rtl_deinit() {}

OMPTOOL_EXPORT std::int32_t __tgt_target_kernel() {
  omptool::not_offloaded();
  return omptool::kOnHost;
}

OMPTOOL_EXPORT void __tgt_target_data_begin_mapper() {
  omptool::not_offloaded();
}
OMPTOOL_EXPORT void __tgt_target_data_begin_nowait_mapper() {
  omptool::not_offloaded();
}
OMPTOOL_EXPORT void __tgt_target_data_end_mapper() {}
OMPTOOL_EXPORT void __tgt_target_data_end_nowait_mapper() {}
OMPTOOL_EXPORT void __tgt_target_data_update_mapper() {
  omptool::not_offloaded();
}
OMPTOOL_EXPORT void __tgt_target_data_update_nowait_mapper() {
  omptool::not_offloaded();
}

// The names that the interface document uses with other arguments.
OMPTOOL_EXPORT std::int32_t llvm_target() {
  return __tgt_target_kernel();
}
OMPTOOL_EXPORT std::int32_t llvm_target_teams() {
  return __tgt_target_kernel();
}
OMPTOOL_EXPORT void llvm_target_data_begin() {
  omptool::not_offloaded();
}
OMPTOOL_EXPORT void llvm_target_data_end() {}
OMPTOOL_EXPORT void llvm_target_data_update() {
  omptool::not_offloaded();
}

OMPTOOL_EXPORT_AS(llvm_target, "__tgt_target@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_teams, "__tgt_target_teams@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_begin, "__tgt_target_data_begin@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_end, "__tgt_target_data_end@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_update, "__tgt_target_data_update@VERS1.0");
}
