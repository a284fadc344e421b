// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of libtarget.so (offload-infrastructure-proposal.txt, section 4). Each row maps one object, adds a reference to
// it and is an argument of the region; the document's four map types select the copies. libtarget.h describes where the
// document and OpenMP 4.0, its basis, differ about the time of copies.
#include "abi/calls_of_arrays.h"
#include "process/libomp.h"
#include "rtl/proposal_adapter.h"

#include <algorithm>
#include <iterator>

namespace omptool::proposal {
namespace {

// Reads a library's descriptor. Plugins get its entries without names; messages number them from 0.
std::string read_library(const void* address, LibraryContents& contents) {
  const Descriptor& descriptor = *static_cast<const Descriptor*>(address);
  if (!is_range(descriptor.entries_begin, descriptor.entries_end))
    return "its entry table does not end where an entry ends";
  for (const Entry& entry : std::span(descriptor.entries_begin, descriptor.entries_end)) {
    const std::string place = "entry " + std::to_string(&entry - descriptor.entries_begin);
    if (entry.size < 0)
      return "the size of " + place + " is " + std::to_string(entry.size);
    EntryTable& table = contents.table;
    const EntryKind kind = entry.size == 0 ? EntryKind::kKernel : EntryKind::kGlobal;
    table.add({entry.address, nullptr, entry.size, kind, entry.size});
    table.entries.back().name = table.names.emplace_back(place).data();
  }
  return read_images(descriptor.image_count, descriptor.images, contents.images);
}

// alloc, to, from, tofrom.
constexpr std::uint32_t kCopies[] = {0, kTo, kFrom, kTo | kFrom};

struct Arrays {
  static constexpr observe::Abi kAbi = observe::Abi::kProposal;
  static constexpr const char* kHowMany = "three";
  int device;
  int count;
  void** host;
  const int* sizes;
  const void* types;

  int type(std::size_t i) const { return static_cast<const int*>(types)[i]; }
  // Numbers below -1 mean something to the core that they do not mean here.
  std::int64_t known_device() const { return std::max<std::int64_t>(device, kDefaultDevice); }
  std::string fault() const {
    return device < kDefaultDevice ? "device number " + std::to_string(device) + " is out of range" : std::string();
  }
  bool complete() const { return host && sizes && types; }
  Row row(std::size_t i) const {
    return {host[i], host[i], sizes[i], kCopies[type(i) & 3] | kCounts | kArgument, nullptr};
  }
  const char* fault_of(std::size_t i) const {
    if (type(i) < 0 || static_cast<std::size_t>(type(i)) >= std::size(kCopies))
      return "has an unknown map type";
    return fault_of_memory(host[i], sizes[i]);
  }
};

} // namespace

extern "C" {

OMPTOOL_EXPORT void omptool_2013_register_lib(void* descriptor) {
  register_library(descriptor, read_library);
}
OMPTOOL_EXPORT void omptool_2013_unregister_lib(void* descriptor) {
  unregister_library(descriptor);
}

OMPTOOL_EXPORT void omptool_2013_data_begin(int device, int count, void** host, int* sizes, const void* types) {
  on_data(Action::kEnterData, "__tgt_target_data_begin", __builtin_return_address(0),
          Arrays{device, count, host, sizes, types});
}
OMPTOOL_EXPORT void omptool_2013_data_end(int device, int count, void** host, int* sizes, const void* types) {
  on_data(Action::kExitData, "__tgt_target_data_end", __builtin_return_address(0),
          Arrays{device, count, host, sizes, types});
}
OMPTOOL_EXPORT void omptool_2013_data_update(int device, int count, void** host, int* sizes, const void* types) {
  on_data(Action::kUpdate, "__tgt_target_data_update", __builtin_return_address(0),
          Arrays{device, count, host, sizes, types});
}

OMPTOOL_EXPORT int omptool_2013_target(int device, void* entry, int count, void** host, int* sizes, const void* types) {
  return on_region("__tgt_target", __builtin_return_address(0), entry, Arrays{device, count, host, sizes, types});
}
OMPTOOL_EXPORT int omptool_2013_target_teams(int device, void* entry, int count, void** host, int* sizes,
                                             const void* types, int teams, int threads) {
  return on_region("__tgt_target_teams", __builtin_return_address(0), entry, Arrays{device, count, host, sizes, types},
                   shape_of_teams(teams, threads));
}

// Returns the number of devices. The document's other routines are those of OpenMP (routines/omp.cpp).
OMPTOOL_EXPORT int omptool_2013_get_num_devices() {
  return guarded("omp_get_num_devices", [] { return number_of_devices(); });
}
OMPTOOL_EXPORT_AS(omptool_2013_register_lib, "__tgt_register_lib@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_unregister_lib, "__tgt_unregister_lib@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_data_begin, "__tgt_target_data_begin@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_data_end, "__tgt_target_data_end@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_data_update, "__tgt_target_data_update@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_target, "__tgt_target@LIBTARGET_2013");
OMPTOOL_EXPORT_AS(omptool_2013_target_teams, "__tgt_target_teams@LIBTARGET_2013");
}
} // namespace omptool::proposal
