// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of libtarget.so (offload-infrastructure-proposal.txt, section 4). Each row maps one object,
// counts a reference to it and is an argument of the region; the document's four map types say what is
// copied. Where it and OpenMP 4.0, for which it is made, differ on when that is, libtarget.h tells.
#include "abi/proposal/calls.h"

#include "abi/calls_of_arrays.h"
#include "abi/exports.h"
#include "abi/llvm/narrator.h"
#include "abi/proposal/library.h"
#include "offload/offload.h"
#include "process/default_device.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace omptool::proposal {
namespace {

// alloc, to, from, tofrom.
constexpr std::uint32_t kCopies[] = {0, kTo, kFrom, kTo | kFrom};

struct Arrays {
  int device;
  int count;
  void** host;
  const int* sizes;
  const int* types;

  // Numbers below -1 mean something to the core that they do not mean here.
  std::int64_t known_device() const { return std::max<std::int64_t>(device, kDefaultDevice); }
  std::string fault() const {
    return device < kDefaultDevice ? "device number " + std::to_string(device) + " is out of range" : std::string();
  }
  static const char* how_many() { return "three"; }
  bool complete() const { return host && sizes && types; }
  void* base(std::size_t i) const { return host[i]; }
  Row row(std::size_t i) const {
    return {host[i], host[i], sizes[i], kCopies[types[i]] | kCounts | kArgument, nullptr};
  }
  const char* fault_of(std::size_t i) const {
    if (types[i] < 0 || static_cast<std::size_t>(types[i]) >= std::size(kCopies))
      return "has an unknown map type";
    return fault_of_memory(host[i], sizes[i]);
  }
  std::string describe(std::size_t i) const {
    char text[96];
    std::snprintf(text, sizeof text, "address %p, size %d, type %d", host[i], sizes[i], types[i]);
    return text;
  }
};

void on_data(observe::Action action, const char* function, const void* code, const Arrays& arrays,
             DataAction data_action) {
  omptool::on_data({observe::Abi::kProposal, action, function, code}, arrays.known_device(), arrays, data_action);
}

int on_region(const char* function, const void* code, const void* entry, const Arrays& arrays,
              const LaunchShape& shape) {
  return omptool::on_region({observe::Abi::kProposal, observe::Action::kRegion, function, code, -1, entry, nullptr,
                             false, shape.asked.teams[0]},
                            arrays.known_device(), arrays, shape);
}

} // namespace
} // namespace omptool::proposal

extern "C" {

OMPTOOL_EXPORT void omptool_2013_register_lib(void* descriptor) {
  omptool::guarded("__tgt_register_lib", [&] {
    omptool::llvm::read_info();
    if (descriptor)
      omptool::Registry::obtain().add(descriptor, omptool::proposal::read_library);
  });
}

OMPTOOL_EXPORT void omptool_2013_unregister_lib(void* descriptor) {
  omptool::guarded("__tgt_unregister_lib", [&] {
    if (omptool::Registry* registry = omptool::Registry::current(); registry && descriptor)
      registry->remove(descriptor);
  });
}

OMPTOOL_EXPORT void omptool_2013_data_begin(int device, int count, void** host, int* size, const void* types) {
  omptool::proposal::on_data(omptool::observe::Action::kEnterData, "__tgt_target_data_begin",
                             __builtin_return_address(0), {device, count, host, size, static_cast<const int*>(types)},
                             omptool::DataAction::kBegin);
}

OMPTOOL_EXPORT void omptool_2013_data_end(int device, int count, void** host, int* size, const void* types) {
  omptool::proposal::on_data(omptool::observe::Action::kExitData, "__tgt_target_data_end", __builtin_return_address(0),
                             {device, count, host, size, static_cast<const int*>(types)}, omptool::DataAction::kEnd);
}

OMPTOOL_EXPORT void omptool_2013_data_update(int device, int count, void** host, int* size, const void* types) {
  omptool::proposal::on_data(omptool::observe::Action::kUpdate, "__tgt_target_data_update", __builtin_return_address(0),
                             {device, count, host, size, static_cast<const int*>(types)}, omptool::DataAction::kUpdate);
}

OMPTOOL_EXPORT int omptool_2013_target(int device, void* entry, int count, void** host, int* size, const void* types) {
  return omptool::proposal::on_region("__tgt_target", __builtin_return_address(0), entry,
                                      {device, count, host, size, static_cast<const int*>(types)}, {});
}

OMPTOOL_EXPORT int omptool_2013_target_teams(int device, void* entry, int count, void** host, int* size,
                                             const void* types, int num_teams, int thread_limit) {
  return omptool::proposal::on_region("__tgt_target_teams", __builtin_return_address(0), entry,
                                      {device, count, host, size, static_cast<const int*>(types)},
                                      omptool::shape_of_teams(num_teams, thread_limit));
}

OMPTOOL_EXPORT void omptool_2013_set_default_device(int number) {
  omptool::guarded("omp_set_default_device", [&] { omptool::set_default_device(number); });
}

OMPTOOL_EXPORT int omptool_2013_get_default_device() {
  return omptool::guarded("omp_get_default_device", [] { return omptool::default_device(); });
}

OMPTOOL_EXPORT int omptool_2013_get_num_devices() {
  return omptool::guarded("omp_get_num_devices", [] { return omptool::number_of_devices(); });
}

// This library is the host's; device images bring their own.
OMPTOOL_EXPORT int omptool_2013_is_initial_device() {
  return 1;
}

OMPTOOL_EXPORT_AS(omptool_2013_register_lib, "__tgt_register_lib@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_unregister_lib, "__tgt_unregister_lib@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_data_begin, "__tgt_target_data_begin@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_data_end, "__tgt_target_data_end@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_data_update, "__tgt_target_data_update@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_target, "__tgt_target@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_target_teams, "__tgt_target_teams@LIBTARGET_2013");
}
