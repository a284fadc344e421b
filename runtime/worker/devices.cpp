// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices.h"

#include <span>
#include <string>

namespace omptool::worker {

Outcome Outcome::failed(std::int32_t result, std::string_view why) {
  const View bytes = std::as_bytes(std::span(why));
  return {result, {bytes.begin(), bytes.end()}};
}

Outcome Outcome::of(std::int32_t result, const Rtl& rtl) {
  return result == 0 ? Outcome() : failed(result, "plugin " + rtl.name() + rtl.last_error());
}

const Device& Devices::of(const Operation& operation) const {
  const auto number = static_cast<std::size_t>(operation.device);
  if (number >= all.size())
    throw mpi::Malformed("an operation is for device " + std::to_string(number) + " of " + std::to_string(all.size()));
  return all[number];
}

} // namespace omptool::worker
