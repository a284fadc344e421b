// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of programs compiled by clang, version VERS1.0. This version of omptool does not offload
// their regions: each call succeeds in the way that makes the program run its host versions, on the
// right data (decision 1: plain C code of the same program may have put it on a device), and one line
// says so. LLVM's records are not looked at.
#define OMPTARGET_NO_SYMVER
#include "environment.h"
#include "exports.h"
#include "offload.h"

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

constexpr struct {
  std::int64_t type;
  std::uint32_t flags;
} kTranslation[] = {
    {0x1, kTo}, {0x2, kFrom}, {0x4, kAlways}, {0x10, kPointer}, {0x80, kPrivate}, {0x100, kValue},
};
constexpr std::int64_t kNonContiguous = 0x100000000000; // the row's begin is a list of dimensions

struct Arrays {
  std::uint32_t count;
  void** base;
  void** begin;
  std::int64_t* size;
  std::int64_t* type;
};

// How every version of LLVM's kernel arguments begins.
struct KernelArguments {
  std::uint32_t version;
  std::uint32_t count;
  void** base;
  void** begin;
  std::int64_t* size;
  std::int64_t* type;
};

// Hands `action` the rows of which `wanted` holds.
template <typename Wanted>
void with_rows(std::int64_t device_id, const Arrays& arrays, void (*action)(std::int64_t, Rows), const Wanted& wanted) {
  PerRow<Row> rows(arrays.count);
  std::size_t count = 0;
  for (std::size_t i = 0; i < arrays.count; ++i) {
    Row row{arrays.base[i], arrays.begin[i], arrays.size[i], 0, nullptr};
    for (const auto& bit : kTranslation)
      if (arrays.type[i] & bit.type)
        row.flags |= bit.flags;
    if (row.size >= 0 && row.maps() && !(arrays.type[i] & kNonContiguous) && wanted(row))
      rows[count++] = row;
  }
  if (count)
    action(device_id, Rows(rows.data(), count));
}

std::int32_t on_region(const char* call, std::int64_t device_id, const Arrays& arrays) {
  guarded(call, [&] {
    not_offloaded();
    with_rows(device_id, arrays, before_host_version, [](const Row&) { return true; });
  });
  return kOnHost;
}

// Nothing is mapped for LLVM's constructs; what somebody else has mapped is copied as they say.
void on_data(const char* call, std::int64_t device_id, const Arrays& arrays, std::uint32_t flags) {
  guarded(call, [&] {
    not_offloaded();
    with_rows(device_id, arrays, data_update, [&](const Row& row) { return row.has(flags); });
  });
}

} // namespace
} // namespace omptool

extern "C" {

// Arguments that are not looked at are left out at the end; the C calling convention lets callers
// pass them all the same.
OMPTOOL_EXPORT void __tgt_register_lib(__tgt_bin_desc*) {}
OMPTOOL_EXPORT void __tgt_unregister_lib(__tgt_bin_desc*) {}
OMPTOOL_EXPORT void __tgt_register_requires(std::int64_t) {}
OMPTOOL_EXPORT void __tgt_rtl_init() {}
OMPTOOL_EXPORT void __tgt_rtl_deinit() {}

OMPTOOL_EXPORT std::int32_t __tgt_target_kernel(void*, std::int64_t device, std::int32_t, std::int32_t, void*,
                                                const omptool::KernelArguments* arguments) {
  const omptool::KernelArguments all = arguments ? *arguments : omptool::KernelArguments{};
  return omptool::on_region(__func__, device, {all.count, all.base, all.begin, all.size, all.type});
}

// The data calls of clang 11 and later, deferred or not; the names of the interface document without
// the source location in front.
#define OMPTOOL_LLVM_DATA(function, flags)                                                                             \
  OMPTOOL_EXPORT void function(void*, std::int64_t device, std::uint32_t count, void** base, void** begin,             \
                               std::int64_t* size, std::int64_t* type) {                                               \
    omptool::on_data(__func__, device, {count, base, begin, size, type}, flags);                                       \
  }
OMPTOOL_LLVM_DATA(__tgt_target_data_begin_mapper, omptool::kTo | omptool::kAlways)
OMPTOOL_LLVM_DATA(__tgt_target_data_begin_nowait_mapper, omptool::kTo | omptool::kAlways)
OMPTOOL_LLVM_DATA(__tgt_target_data_end_mapper, omptool::kFrom | omptool::kAlways)
OMPTOOL_LLVM_DATA(__tgt_target_data_end_nowait_mapper, omptool::kFrom | omptool::kAlways)
OMPTOOL_LLVM_DATA(__tgt_target_data_update_mapper, 0)
OMPTOOL_LLVM_DATA(__tgt_target_data_update_nowait_mapper, 0)
#undef OMPTOOL_LLVM_DATA

OMPTOOL_EXPORT std::int32_t llvm_target(std::int64_t device, void*, std::uint32_t count, void** base, void** begin,
                                        std::int64_t* size, std::int64_t* type) {
  return omptool::on_region("__tgt_target", device, {count, base, begin, size, type});
}
OMPTOOL_EXPORT std::int32_t llvm_target_teams(std::int64_t device, void*, std::uint32_t count, void** base,
                                              void** begin, std::int64_t* size, std::int64_t* type) {
  return omptool::on_region("__tgt_target_teams", device, {count, base, begin, size, type});
}
OMPTOOL_EXPORT void llvm_target_data_begin(std::int64_t device, std::uint32_t count, void** base, void** begin,
                                           std::int64_t* size, std::int64_t* type) {
  omptool::on_data("__tgt_target_data_begin", device, {count, base, begin, size, type},
                   omptool::kTo | omptool::kAlways);
}
OMPTOOL_EXPORT void llvm_target_data_end(std::int64_t device, std::uint32_t count, void** base, void** begin,
                                         std::int64_t* size, std::int64_t* type) {
  omptool::on_data("__tgt_target_data_end", device, {count, base, begin, size, type},
                   omptool::kFrom | omptool::kAlways);
}
OMPTOOL_EXPORT void llvm_target_data_update(std::int64_t device, std::uint32_t count, void** base, void** begin,
                                            std::int64_t* size, std::int64_t* type) {
  omptool::on_data("__tgt_target_data_update", device, {count, base, begin, size, type}, 0);
}

OMPTOOL_EXPORT_AS(llvm_target, "__tgt_target@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_teams, "__tgt_target_teams@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_begin, "__tgt_target_data_begin@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_end, "__tgt_target_data_end@VERS1.0");
OMPTOOL_EXPORT_AS(llvm_target_data_update, "__tgt_target_data_update@VERS1.0");
}
