// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/messages.h"

#include "abi/llvm/tables.h"
#include "offload/offload.h"
#include "process/default_device.h"
#include "process/message.h"

#include <cstdio>
#include <exception>
#include <string>

namespace omptool::llvm {
namespace {

constexpr const char* kError = "omptarget error: ";

// LLVM's titles, "being" included.
const char* title_of(const Call& call) {
  const bool nowait = call.waiting == Waiting::kNowait;
  switch (call.construct) {
  case Construct::kBegin:
    return nowait ? "Entering OpenMP data region with being_nowait_mapper"
                  : "Entering OpenMP data region with being_mapper";
  case Construct::kEnd:
    return nowait ? "Exiting OpenMP data region with end_nowait_mapper" : "Exiting OpenMP data region with end_mapper";
  case Construct::kUpdate:
    return nowait ? "Updating data within the OpenMP data region with update_nowait_mapper"
                  : "Updating data within the OpenMP data region with update_mapper";
  case Construct::kRegion:
    break;
  }
  return "Entering OpenMP kernel";
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

void tell_arguments(int device, const Call& call) {
  const Arrays& all = call.arrays;
  inform(device, "%s at %s with %u arguments:", title_of(call), place_of(call.where).text().c_str(), all.count);
  for (std::size_t i = 0; all.size && all.type && i < all.count; ++i) {
    const char* const name = all.names ? static_cast<const char*>(all.names[i]) : nullptr;
    inform(device, "%s(%s)[%lld] %s", kind_of(all.type[i], all.size[i]), place_of(name).name.c_str(),
           static_cast<long long>(all.size[i]), all.type[i] & kTypeImplicit ? "(implicit)" : "");
  }
}

void tell_tables(const std::string& place) {
  const std::string text = describe_tables(place);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    tell("", "%s", text.substr(at, end - at).c_str());
    at = end + 1;
  }
}

} // namespace

int device_of(const Call& call) {
  const std::int64_t number = call.device == -1 ? default_device() : call.device;
  return number >= 0 && number < number_of_devices() ? static_cast<int>(number) : -1;
}

Narrated::Narrated(const Call& call) : call_(call), faults_before_(std::uncaught_exceptions()) {
  const int number = informs(~0U) ? device_of(call) : -1;
  if (number < 0)
    return;
  prepared_device(number); // what its images' constructors do comes before
  log_.emplace(number);
  if (informs(kInfoArguments))
    tell_arguments(number, call);
}

Narrated::~Narrated() {
  if (!log_)
    return;
  log_.reset();
  if (informs(kInfoTable) && std::uncaught_exceptions() == faults_before_)
    tell_tables(place_of(call_.where).text());
}

void die_of(const MappingFault& fault, const Call& call) {
  const bool maps_in = call.construct == Construct::kBegin || call.construct == Construct::kRegion;
  for (const char* const message : {fault.before.c_str(), fault.what()})
    if (*message)
      tell("omptarget message: ", "%s", message);
  if (maps_in)
    tell(kError, "Call to getTargetPointer returned null pointer (%s).",
         fault.kind == MappingFault::Kind::kAbsent ? "'present' map type modifier"
                                                   : "device failure or illegal mapping");
  if (call.construct == Construct::kRegion) {
    tell(kError, "Call to targetDataBegin failed, abort target.");
    tell(kError, "Failed to process data before launching the kernel.");
  }
  const Place place = place_of(call.where);
  if (informs(kInfoTable))
    tell_tables(place.text());
  else
    tell(kError, "Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.");
  if (!place.known())
    tell(kError, "Source location information not present. Compile with -g or -gline-tables-only.");
  die_at(place.known() ? place.text().c_str() : "", 1, "failure of target construct while offloading is mandatory");
}

void tell_tables_at_end() {
  tell_tables("libomptarget:0:0");
}

} // namespace omptool::llvm
