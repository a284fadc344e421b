// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of the two documents: rows come in arrays that may be malformed. A call with a malformed row is reported and
// ignored, or its region runs on the host.
#pragma once

#include "abi/exports.h"
#include "counted.h"
#include "offload/offload.h"
#include "per_row.h"

#include <new>

namespace omptool {

// Returns what is wrong with the memory that a row names, or null.
inline const char* fault_of_memory(const void* address, std::int64_t size) {
  if (size < 0)
    return "has a negative size";
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address);
  if (size > 0 && (begin == 0 || begin + static_cast<std::uintptr_t>(size) < begin))
    return "names memory that cannot exist";
  return nullptr;
}

// Returns the result of `body(rows, fault)`; `fault` describes a malformed call, or is "". A malformed row is replaced
// by one that names only the object around its base. Arrays provides
//   kAbi
//   count, as the program passes it
//   known_device(): the device in the core's numbering, and fault(): a fault of the call outside of its rows, or ""
//   complete(): whether all arrays are there, and kHowMany: "four"
//   fault_of(i): a fault of row `i`, or null
//   row(i): its row; of a malformed one the base; and type(i)
template <typename Arrays, typename Body> auto with_rows(const Arrays& arrays, const Body& body) {
  if (arrays.count < 0 || (arrays.count > 0 && !arrays.complete()))
    return body(Rows(),
                "the call has " + counted(arrays.count, "row") + ", but not all " + Arrays::kHowMany + " arrays");
  std::optional<PerRow<Row>> of_each;
  try {
    of_each.emplace(static_cast<std::size_t>(arrays.count));
  } catch (const std::bad_alloc&) {
    return body(Rows(), "the process has no memory for " + counted(arrays.count, "row"));
  }
  PerRow<Row>& rows = *of_each;
  std::string first_fault = arrays.fault();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* const fault = arrays.fault_of(i);
    rows[i] = arrays.row(i);
    if (fault && first_fault.empty())
      first_fault = "row " + std::to_string(i) + " " +
                    describe_fault(fault, rows[i].begin, rows[i].size, static_cast<std::uint32_t>(arrays.type(i)));
    if (fault)
      rows[i] = {rows[i].base};
  }
  return body(Rows(rows.data(), rows.size()), first_fault);
}

// Runs a data call. `later` has the dependences and the event of an asynchronous call; null: the call waits.
template <typename Arrays>
void on_data(Action action, const char* function, const void* code, const Arrays& arrays,
             const Later* later = nullptr) {
  const std::int64_t device = arrays.known_device();
  guarded(function, [&] {
    const ReportedCall reported({Arrays::kAbi, action, function, code, -1, nullptr, nullptr, later != nullptr}, device);
    with_rows(arrays, [&](Rows rows, const std::string& fault) {
      if (later)
        data_later(action, device, rows, *later, fault);
      else if (fault.empty())
        run_data(action, device, rows);
      else
        say("%s: %s; the call is ignored", function, fault.c_str());
    });
  });
}

// Runs a region. `shape` is that of the call, by default one team.
template <typename Arrays>
std::int32_t on_region(const char* function, const void* code, const void* entry, const Arrays& arrays,
                       const LaunchShape& shape = {}, const Later* later = nullptr) {
  const std::int64_t device = arrays.known_device();
  return guarded(function, [&] {
    const ReportedCall reported(
        {Arrays::kAbi, Action::kRegion, function, code, -1, entry, nullptr, later != nullptr, shape.asked.teams[0]},
        device);
    return with_rows(arrays, [&](Rows rows, const std::string& fault) {
      if (later)
        return run_region_later(device, entry, rows, shape, *later, fault);
      return fault.empty() ? run_region(device, entry, rows, shape)
                           : refuse_region(device, entry, rows, std::string(function) + ": " + fault);
    });
  });
}

} // namespace omptool
