// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/launch.h"

#include "observe/sink.h"
#include "offload/arguments.h"
#include "offload/region.h"
#include "process/message.h"

#include <algorithm>

namespace omptool {
namespace {

std::int32_t run(Device& device, void* function, const Arguments& arguments, const LaunchShape& shape) {
  const RtlFunctions& rtl = device.rtl.call();
  if (shape.origin == LaunchShape::Origin::kTeams || device.memory.takes_shapes()) [[unlikely]]
    return run_in_shape(rtl, device.rtl_id, function, arguments.data(), arguments.count(),
                        with_environment(shape, arguments.how()));
  return rtl.run_target_region(device.rtl_id, function, arguments.data(), arguments.count());
}

// A kernel that has not begun falls back; one that may have begun must not run again on the host.
[[gnu::cold]] void take_back(Device& device, const std::string& region, std::int32_t result, std::uint64_t noted) {
  if (result != OMPTARGET_RTL_NOT_STARTED)
    die("region %s failed on %s with error %d%s", region.c_str(), device.describe().c_str(), result,
        device.rtl.last_error().c_str());
  device.data.activity.take_back(noted);
}

// False: the plugin has not started it, and not_started() says why.
[[nodiscard]] inline bool run_kernel(Device& device, const std::string& region, void* function, Arguments& arguments,
                                     const LaunchShape& shape) {
  arguments.complete();
  const std::uint64_t noted = device.data.activity.note();
  const std::int32_t result = run(device, function, arguments, shape);
  if (result != 0) [[unlikely]]
    take_back(device, region, result, noted);
  return result == 0;
}

// To be asked before the plugin is called again.
[[gnu::cold]] std::string not_started(const Device& device) {
  return device.describe() + " did not start it" + device.rtl.last_error();
}

// Rows of every kind. What the short way has taken hold of is kept until it is bound here.
[[gnu::noinline]] bool launch_any(Device& device, const Kernel& kernel, const Resolved& there, Rows rows,
                                  const LaunchShape& shape, KnownObjects& known, std::string& reason) {
  Region region(device, kernel, there, rows, shape, CommandList::Use::kNow);
  region.take_position(Passage::kIn);
  device.data.exact.end_known(rows, known, Release::kNormal, kernel.name);
  reason = region.start();
  if (!reason.empty()) {
    region.abandon();
    return false;
  }
  region.queue_end();
  region.finish(region.commands().wait());
  return true;
}

} // namespace

bool launch(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const LaunchShape& shape,
            std::string& reason) {
  KnownObjects known(rows.size());
  // Exact matches neither queue nor report.
  const bool is_immediate = !observe::heard() && device.memory.moves_itself();
  if (!is_immediate || !device.data.exact.begin_known(rows, known)) [[unlikely]]
    return launch_any(device, kernel, there, rows, shape, known, reason);
  Arguments arguments(there.how, rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].has(kArgument))
      arguments.add() = device.data.exact.known_argument(rows[i], known[i]);
  const bool is_started = run_kernel(device, kernel.name, there.function, arguments, shape);
  if (!is_started) [[unlikely]]
    reason = not_started(device);
  device.data.exact.end_known(rows, known, is_started ? Release::kNormal : Release::kAbandoned, kernel.name);
  return is_started;
}

} // namespace omptool
