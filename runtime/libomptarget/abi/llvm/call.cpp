// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/call.h"

#include "abi/info/info.h"
#include "process/message.h"

#include <string>

namespace omptool::llvm {
namespace {

constexpr const char* kError = "omptarget error: ";

// LLVM's titles, "being" included.
std::string title_of(const observe::Call& call) {
  if (call.action == Action::kRegion)
    return "Entering OpenMP kernel";
  std::string title = "Updating data within the OpenMP data region with update";
  if (call.action == Action::kEnterData)
    title = "Entering OpenMP data region with being";
  else if (call.action == Action::kExitData)
    title = "Exiting OpenMP data region with end";
  return title + (call.nowait ? "_nowait_mapper" : "_mapper");
}

const char* kind_of(std::int64_t type, std::int64_t size) {
  if (type & kTypeAttach)
    return type & kTypeAlways ? "attach:always" : "attach";
  if ((type & kTypeTo) && (type & kTypeFrom))
    return "tofrom";
  if (type & (kTypeTo | kTypeFrom))
    return type & kTypeTo ? "to" : "from";
  if (type & kTypePrivate)
    return "private";
  if (type & kTypeLiteral)
    return "firstprivate";
  return size != 0 ? "alloc" : "use_address";
}

} // namespace

void tell_arguments(int device, const Call& call) {
  const Arrays& all = call.arrays;
  info::inform(device, title_of(call.reported) + " at " + info::place_of_construct(call.reported.source).text() +
                           " with " + std::to_string(all.count) + " arguments:");
  for (std::size_t i = 0; all.size && all.type && i < all.count; ++i) {
    const char* const name = all.names ? static_cast<const char*>(all.names[i]) : nullptr;
    info::inform(device, std::string(kind_of(all.type[i], all.size[i])) + "(" + info::place_of(name).name + ")[" +
                             std::to_string(all.size[i]) + "] " + (all.type[i] & kTypeImplicit ? "(implicit)" : ""));
  }
}

void die_of(const MappingFault& fault, const Call& call) {
  const bool maps_in = call.reported.action == Action::kEnterData || call.reported.action == Action::kRegion;
  for (const char* const message : {fault.before.c_str(), fault.what()})
    if (*message)
      tell("omptarget message: ", "%s", message);
  if (maps_in)
    tell(kError, "Call to getTargetPointer returned null pointer (%s).",
         fault.kind == MappingFault::Kind::kAbsent ? "'present' map type modifier"
                                                   : "device failure or illegal mapping");
  if (call.reported.action == Action::kRegion) {
    tell(kError, "Call to targetDataBegin failed, abort target.");
    tell(kError, "Failed to process data before launching the kernel.");
  }
  const info::Place place = info::place_of_construct(call.reported.source);
  if (info::informs(info::kInfoTable))
    info::tell_tables(place.text());
  else
    tell(kError, "Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.");
  if (!place.known())
    tell(kError, "Source location information not present. Compile with -g or -gline-tables-only.");
  die_at(place.known() ? place.text().c_str() : "", 1, "failure of target construct while offloading is mandatory");
}

} // namespace omptool::llvm
