// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of libtarget.so (offload-infrastructure-proposal.txt, section 4). Each row maps one object,
// counts a reference to it and is an argument of the region; the document's four map types say what is
// copied. Where it and OpenMP 4.0, for which it is made, differ on when that is, libtarget.h tells.
#include "abi/proposal/calls.h"

#include "abi/exports.h"
#include "abi/proposal/library.h"
#include "offload/offload.h"
#include "process/default_device.h"
#include "process/per_row.h"

#include <cstdio>
#include <iterator>

namespace omptool::proposal {
namespace {

constexpr int kDefaultDevice = -1;
// alloc, to, from, tofrom.
constexpr std::uint32_t kCopies[] = {0, kTo, kFrom, kTo | kFrom};

struct Arrays {
  int count;
  void** host;
  const int* size;
  const int* type;
};

// What is wrong with row `i`, or null.
const char* fault_of(const Arrays& arrays, std::size_t i) {
  if (arrays.type[i] < 0 || static_cast<std::size_t>(arrays.type[i]) >= std::size(kCopies))
    return "has an unknown map type";
  if (arrays.size[i] < 0)
    return "has a negative size";
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(arrays.host[i]);
  if (arrays.size[i] > 0 && (begin == 0 || begin + static_cast<std::uintptr_t>(arrays.size[i]) < begin))
    return "names memory that cannot exist";
  return nullptr;
}

std::string describe_fault(const Arrays& arrays, std::size_t i, const char* fault) {
  char text[160];
  std::snprintf(text, sizeof text, "row %zu %s (address %p, size %d, type %d)", i, fault, arrays.host[i],
                arrays.size[i], arrays.type[i]);
  return text;
}

// Calls `body(rows, fault)`; `fault` says what is wrong with the call, or is "". In place of a malformed
// row stands one that names no more than the object at its address.
template <typename Body> void with_rows(int device, const Arrays& arrays, const Body& body) {
  if (arrays.count < 0 || (arrays.count > 0 && !(arrays.host && arrays.size && arrays.type))) {
    body(Rows(), std::to_string(arrays.count) + " rows, but not all three arrays");
    return;
  }
  std::string first_fault;
  if (device < kDefaultDevice)
    first_fault = "device number " + std::to_string(device) + " is out of range";
  PerRow<Row> rows(static_cast<std::size_t>(arrays.count));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* const fault = fault_of(arrays, i);
    if (fault && first_fault.empty())
      first_fault = describe_fault(arrays, i, fault);
    void* const at = arrays.host[i];
    rows[i].base = at;
    if (!fault)
      rows[i] = {at, at, arrays.size[i], kCopies[arrays.type[i]] | kCounts | kArgument, nullptr};
  }
  body(Rows(rows.data(), rows.size()), first_fault);
}

void on_data(const char* call, int device, const Arrays& arrays, void (*action)(std::int64_t, Rows)) {
  guarded(call, [&] {
    with_rows(device, arrays, [&](Rows rows, const std::string& fault) {
      if (fault.empty())
        action(device, rows);
      else
        say("%s: %s; the call is ignored", call, fault.c_str());
    });
  });
}

int on_region(const char* call, int device, const void* entry, const Arrays& arrays, LaunchShape shape) {
  return guarded(call, [&] {
    int result = -1;
    with_rows(device, arrays, [&](Rows rows, const std::string& fault) {
      // Numbers below -1 mean something to the core that they do not mean here.
      const int known = device < kDefaultDevice ? kDefaultDevice : device;
      result = fault.empty() ? run_region(device, entry, rows, shape)
                             : refuse_region(known, entry, rows, std::string(call) + ": " + fault);
    });
    return result;
  });
}

} // namespace
} // namespace omptool::proposal

extern "C" {

OMPTOOL_EXPORT void omptool_2013_register_lib(void* descriptor) {
  omptool::guarded("__tgt_register_lib", [&] {
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
  omptool::proposal::on_data("__tgt_target_data_begin", device, {count, host, size, static_cast<const int*>(types)},
                             omptool::data_begin);
}

OMPTOOL_EXPORT void omptool_2013_data_end(int device, int count, void** host, int* size, const void* types) {
  omptool::proposal::on_data("__tgt_target_data_end", device, {count, host, size, static_cast<const int*>(types)},
                             omptool::data_end);
}

OMPTOOL_EXPORT void omptool_2013_data_update(int device, int count, void** host, int* size, const void* types) {
  omptool::proposal::on_data("__tgt_target_data_update", device, {count, host, size, static_cast<const int*>(types)},
                             omptool::data_update);
}

OMPTOOL_EXPORT int omptool_2013_target(int device, void* entry, int count, void** host, int* size, const void* types) {
  return omptool::proposal::on_region("__tgt_target", device, entry,
                                      {count, host, size, static_cast<const int*>(types)}, {});
}

OMPTOOL_EXPORT int omptool_2013_target_teams(int device, void* entry, int count, void** host, int* size,
                                             const void* types, int num_teams, int thread_limit) {
  return omptool::proposal::on_region("__tgt_target_teams", device, entry,
                                      {count, host, size, static_cast<const int*>(types)},
                                      {true, num_teams, thread_limit});
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
